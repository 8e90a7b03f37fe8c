// What a propagation leaves behind: every value's placement, and a log of how it came about.
#pragma once

#include "spmd/propagate/propagate.h"
#include "spmd/propagate/value_graph.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// One growth of one value. `previous` is the entry before it of the same value.
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
  std::vector<DraftTable::Id> drafts;           // by value, at the end of the ladder
  std::vector<DraftTable::Id> inputs, outputs;  // trimmed
  std::vector<LogEntry> log;
  std::vector<std::uint32_t> last;  // entry by value
  Effort effort;
};

}  // namespace tessera::inline v0::spmd
