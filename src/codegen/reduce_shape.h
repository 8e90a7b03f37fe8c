// The association of reductions: a function of the equation's shapes alone.
//
// A reduction over the minor dimension keeps a fixed number of lane-wise partial results, joined by
// a fixed tree; any other goes through the rows in order. Long ones are cut into chunks whose
// results are combined in order, so that the chunks may be computed in parallel. Adjacent reduced
// dimensions count as one.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline v0::codegen {

struct ReduceShape {
  std::vector<std::int64_t> extents;  // of the box, adjacent dimensions merged
  std::vector<std::size_t> merged;    // how many dimensions went into each
  bool lanes = false;                 // lane-wise partial results along the last extent
  /// Chunks cut dimension `chunk_dim` into pieces of `chunk_length`; dimensions before it are cut
  /// into single elements.
  std::size_t chunk_dim = 0;
  std::int64_t chunk_length = 1;

  std::int64_t count() const;
  std::int64_t chunks() const;
  std::int64_t blocks() const { return (extents[chunk_dim] + chunk_length - 1) / chunk_length; }
};

/// Whether the equation reduces along the minor dimension of its operand.
bool reduces_minor(const Program& p, const Equation& eqn);

/// For a call of Emitter::reduce over `extents` by the rule of `eqn`. No extent may be zero.
ReduceShape reduce_shape(const Program& p, const Equation& eqn,
                         std::span<const std::int64_t> extents);

/// Lanes of partial results for an accumulator type, never more than the next power of two of the
/// last extent.
int reduce_lanes(DType accumulator, std::int64_t last_extent);

}  // namespace tessera::inline v0::codegen
