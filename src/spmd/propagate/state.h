// The result of a propagation: the placement of every value, and a log of how it was derived.
#pragma once

#include "spmd/propagate/propagate.h"
#include "spmd/propagate/value_graph.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// One growth of one value. `previous` is the value's preceding entry.
struct LogEntry {
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  std::uint32_t value, node, previous;
  DraftTable::Id before, after;
  std::uint8_t rung;
  bool aggressive;
};

struct Propagation::State {
  explicit State(AtomMesh m) : mesh(std::move(m)) {}

  AtomMesh mesh;
  DraftTable table;
  ValueGraph graph;
  std::vector<DraftTable::Id> drafts;           // by value, when the ladder is done
  std::vector<DraftTable::Id> inputs, outputs;  // trimmed
  std::vector<LogEntry> log;
  std::vector<std::uint32_t> last;  // by value: its last entry
  Effort effort;
};

}  // namespace tessera::inline v0::spmd
