#include "checkpoints/snapshot.h"

#include <tessera/device.h>
#include <tessera/distributed.h>
#include <tessera/operators.h>
#include <tessera/sharding.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace tessera::inline v0::checkpoints {
namespace {

void need_values(const std::vector<std::string>& paths, const std::vector<Array>& leaves,
                 const SourceLoc& loc) {
  Message m("checkpoint::save");
  bool sound = true;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Array& x = leaves[i];
    if (x.is_empty() || (x.is_concrete() && !x.is_deleted())) continue;
    sound = false;
    m.offender((paths[i].empty() ? "the value" : paths[i]) + " is " + describe(x) +
               (x.is_concrete() ? ", which was given away"
                : x.is_traced() ? ", which has no values before the function is called"
                                : ", which has no values"));
  }
  if (sound) return;
  m.problem("the tree has leaves without values")
      .rule("a checkpoint is of arrays that have values, or are being computed")
      .from(loc)
      .advice("save what the last call returned, outside of the functions that are traced")
      .raise<TraceError>();
}

void need_names(const std::vector<Entry>& entries, const SourceLoc& loc) {
  std::map<std::string, const Entry*> seen;
  for (const Entry& e : entries) {
    const std::string name = dotted(e.path);
    const auto [first, fresh] = seen.emplace(name, &e);
    if (fresh && name != "__metadata__") continue;
    Message("checkpoint::save")
        .problem(fresh ? "a leaf has the name '__metadata__'"
                       : "two leaves have the name '" + name + "'")
        .rule(
            "a file has one tensor a name, and a leaf's name is its path with dots; "
            "'__metadata__' is the file's own")
        .at(e.path)
        .from(loc)
        .advice("rename a key, and leave dots and slashes out of keys")
        .raise<TreeError>();
  }
}

bool is_own(const Sharding& s) {
  const int here = process_index();
  return std::all_of(s.devices().begin(), s.devices().end(),
                     [&](const Device& d) { return process_of(d) == here; });
}

}  // namespace

std::string dotted(std::string path) {
  std::replace(path.begin(), path.end(), '/', '.');
  return path.empty() ? "value" : path;
}

Snapshot snapshot_of(std::int64_t step, const std::vector<std::string>& paths,
                     const std::vector<Array>& leaves, const CheckpointSaveOptions& options,
                     const SourceLoc& loc) {
  if (step < 0)
    Message("checkpoint::save")
        .problem("the step is " + std::to_string(step))
        .rule("steps are numbers from 0 on")
        .from(loc)
        .advice("the number of steps that were done")
        .raise<ShapeError>();
  need_values(paths, leaves, loc);
  Snapshot out;
  out.head.step = step;
  out.head.time = std::chrono::duration_cast<std::chrono::seconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
  out.head.processes = process_count();
  out.head.metrics = options.metrics;
  out.head.metadata = options.metadata;
  const bool several = out.head.processes > 1;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Array& x = leaves[i];
    if (x.is_empty()) continue;
    Entry e;
    e.path = paths[i];
    e.dtype = x.dtype();
    e.shape = x.shape();
    e.weak = x.weak_type() && x.ndim() == 0 && !is_complex(e.dtype);
    const Sharding where = x.sharding();
    e.mesh = where.mesh().axes();
    if (!e.mesh.empty()) e.spec = where.spec();
    const bool own = several && is_own(where);
    if (several)
      out.lines.push_back(fmt::format("{} {}{} {}", e.path, to_string(e.dtype), to_string(e.shape),
                                      own ? "in each process" : to_string(where)));
    out.held.push_back({+x, own});  // keeps the values even if the caller donates them
    out.head.entries.push_back(std::move(e));
  }
  need_names(out.head.entries, loc);
  return out;
}

Pieces pieces_of(std::vector<Snapshot::Held> held) {
  Pieces pieces;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto [array, own] = std::exchange(held[i], {});
    for (const Shard& s : array.shards()) {
      if (s.replica_id != 0) continue;
      ShardPiece p{i, {}, s.data.shape(), s.data};
      for (const Range& r : s.index) p.start.push_back(r.start.value_or(0));
      if (own) pieces.own.push_back(p);
      if (!own || process_index() == 0) pieces.written.push_back(std::move(p));
    }
  }
  return pieces;
}

}  // namespace tessera::inline v0::checkpoints
