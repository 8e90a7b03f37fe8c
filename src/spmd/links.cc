#include "spmd/links.h"

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::spmd {

const char* name_of(MoveKind kind) {
  switch (kind) {
    case MoveKind::slice: return "slice";
    case MoveKind::permute: return "permute";
    case MoveKind::all_to_all: return "all_to_all";
    case MoveKind::all_gather: return "all_gather";
    case MoveKind::reduce_scatter: return "reduce_scatter";
    case MoveKind::all_reduce: return "all_reduce";
    case MoveKind::exchange: return "exchange";
  }
  return "";
}

namespace {
// Integers are rounded up.
template <class T>
T part(T bytes, T of, T members) {
  if constexpr (std::is_integral_v<T>)
    return (bytes * of + members - 1) / members;
  else
    return bytes * of / members;
}

template <class T>
T received(MoveKind kind, T members, T before, T after) {
  switch (kind) {
    case MoveKind::permute: return before;
    case MoveKind::all_gather: return after - before;
    case MoveKind::all_to_all:
    case MoveKind::reduce_scatter: return before - before / members;
    case MoveKind::all_reduce: return part(T{2} * before, members - T{1}, members);
    case MoveKind::slice:
    case MoveKind::exchange: break;
  }
  return 0;
}
}  // namespace

std::int64_t received_bytes(MoveKind kind, std::int64_t members, std::int64_t before,
                            std::int64_t after) {
  return received(kind, members, before, after);
}
double received_bytes(MoveKind kind, double members, double before, double after) {
  return received(kind, members, before, after);
}

bool Links::alike(const AtomMesh& mesh) const {
  const Link first = of(0);
  if (!scales()) return false;
  for (std::size_t i = 1; i < mesh.mesh().axes.size(); ++i)
    if (!(of(static_cast<int>(i)) == first)) return false;
  return true;
}

bool Links::scales() const {
  return std::all_of(links_.begin(), links_.end(), [](const Link& l) { return l.latency == 0; });
}

double Links::best_bandwidth(const AtomMesh& mesh) const {
  double best = of(0).bandwidth;
  for (std::size_t i = 1; i < mesh.mesh().axes.size(); ++i)
    best = std::max(best, of(static_cast<int>(i)).bandwidth);
  return best;
}

double Links::seconds(const AtomMesh& mesh, MoveKind kind, AtomSet over, double before,
                      double after, double received) const {
  if (kind == MoveKind::slice || over.empty()) return 0;
  struct Level {
    Link link;
    double members;
    double waiting() const {
      return link.latency == 0 ? 0 : std::ceil(std::log2(members)) * link.latency;
    }
  };
  InlineVector<Level, 8> levels;  // fastest first
  double members = 1;
  for (std::size_t axis = 0; axis < mesh.mesh().axes.size(); ++axis) {
    double size = 1;
    for (Atom a : mesh.atoms_of(static_cast<int>(axis)))
      if (over.contains(a)) size *= static_cast<double>(mesh.size(a));
    if (size == 1) continue;
    const Level level{of(static_cast<int>(axis)), size};
    auto at = levels.begin();
    while (at != levels.end() && at->link.bandwidth >= level.link.bandwidth) ++at;
    levels.insert(at, level);
    members *= size;
  }
  double time = 0;
  switch (kind) {
    case MoveKind::slice: break;
    case MoveKind::permute:
      return levels.back().link.latency + before / levels.back().link.bandwidth;
    case MoveKind::exchange:
      return levels.back().link.latency * (members - 1) + received / levels.back().link.bandwidth;
    case MoveKind::all_to_all: {
      double piece = before / members, nearer = 1;
      for (const Level& l : levels) {
        time += l.waiting() + piece * nearer * (l.members - 1) / l.link.bandwidth;
        nearer *= l.members;
      }
      break;
    }
    case MoveKind::all_gather:
    case MoveKind::reduce_scatter:
    case MoveKind::all_reduce: {
      // A gather is a reduction backwards: the greatest pieces on the fastest links.
      double bytes = kind == MoveKind::all_gather ? after : before;
      for (const Level& l : levels) {
        time += l.waiting() + bytes * (l.members - 1) / l.members / l.link.bandwidth;
        bytes /= l.members;
      }
      if (kind == MoveKind::all_reduce) time *= 2;
      break;
    }
  }
  return time;
}

}  // namespace tessera::inline v0::spmd
