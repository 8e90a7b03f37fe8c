#include "spmd/place/links.h"

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
T received_per_device(MoveKind kind, T members, T before, T after) {
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
  return received_per_device(kind, members, before, after);
}
double received_bytes(MoveKind kind, double members, double before, double after) {
  return received_per_device(kind, members, before, after);
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

Links Links::relative() const {
  double best = 0;
  for (const Link& l : links_) best = std::max(best, l.bandwidth);
  Links scaled = *this;
  for (Link& l : scaled.links_) {
    const double slower = best / Link{}.bandwidth;
    l = {l.latency * slower, l.bandwidth / slower};
  }
  return scaled;
}

double Links::seconds(const AtomMesh& mesh, MoveKind kind, AtomSet over, double before,
                      double after, double received_per_device) const {
  double time = 0;
  for (const Crossing& c : crossings(mesh, kind, over, before, after, received_per_device))
    time += c.seconds;
  return time;
}

Crossings Links::crossings(const AtomMesh& mesh, MoveKind kind, AtomSet over, double before,
                           double after, double received_per_device) const {
  Crossings all;
  if (kind == MoveKind::slice || over.empty()) return all;
  struct Level {
    int axis;
    Link link;
    double members;
    double waiting() const {
      return link.latency == 0 ? 0 : std::ceil(std::log2(members)) * link.latency;
    }
  };
  InlineVector<Level, 8> levels;  // fastest first
  double members = 1;
  for (int axis = 0; axis < static_cast<int>(mesh.mesh().axes.size()); ++axis) {
    double size = 1;
    for (Atom a : mesh.atoms_of(axis))
      if (over.contains(a)) size *= static_cast<double>(mesh.size(a));
    if (size == 1) continue;
    const Level level{axis, of(axis), size};
    auto at = levels.begin();
    while (at != levels.end() && at->link.bandwidth >= level.link.bandwidth) ++at;
    levels.insert(at, level);
    members *= size;
  }
  const auto cross = [&](const Level& l, double waiting, double bytes) {
    all.push_back({l.axis, bytes, waiting + bytes / l.link.bandwidth});
  };
  switch (kind) {
    case MoveKind::slice: break;
    case MoveKind::permute: cross(levels.back(), levels.back().link.latency, before); break;
    case MoveKind::exchange:
      cross(levels.back(), levels.back().link.latency * (members - 1), received_per_device);
      break;
    case MoveKind::all_to_all: {
      double piece = before / members, nearer = 1;
      for (const Level& l : levels) {
        cross(l, l.waiting(), piece * nearer * (l.members - 1));
        nearer *= l.members;
      }
      break;
    }
    case MoveKind::all_gather:
    case MoveKind::reduce_scatter:
    case MoveKind::all_reduce: {
      // A gather is a reduction in reverse: the largest blocks travel on the fastest links.
      double bytes = kind == MoveKind::all_gather ? after : before;
      const double ways = kind == MoveKind::all_reduce ? 2 : 1;
      for (const Level& l : levels) {
        cross(l, ways * l.waiting(), ways * (bytes * (l.members - 1) / l.members));
        bytes /= l.members;
      }
      break;
    }
  }
  return all;
}

}  // namespace tessera::inline v0::spmd
