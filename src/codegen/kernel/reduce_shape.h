// The association of reductions: a function of the equation's shapes alone.
//
// A reduction over the minor dimension keeps a fixed number of lane-wise partial results, joined by
// a fixed tree, and long ones are cut into chunks. Any other is halved, and the halves halved,
// while they are even and longer than `kLeafRows`. What is left, lanes, leaves and chunks, is
// combined in order in runs of `kRun`, runs of runs and so on, so that the error grows with the
// logarithm of the count. Two halves that two devices reduce, each its own, and psum adds (in the
// same tree, runtime/cpu/reduce.h) then give the bits of one device that reduces both. Chunks may
// be computed in parallel. Adjacent reduced dimensions count as one.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline v0::codegen {

/// Rows that are combined one after the other.
inline constexpr std::int64_t kLeafRows = 8;

/// Terms that one accumulator takes.
inline constexpr std::int64_t kRun = 32;

/// How often `rows` can be halved before they are a leaf. Products that sum over rows and weights'
/// gradients, which sum over images, have leaves of other lengths, given by the other extents.
int halvings(std::int64_t rows, std::int64_t leaf = kLeafRows);

struct ReduceShape {
  std::vector<std::int64_t> extents;  // of the box, adjacent dimensions merged
  std::vector<std::size_t> merged;    // how many dimensions went into each
  bool lanes = false;                 // lane-wise partial results along the last extent
  /// Chunks cut dimension `chunk_dim` into pieces of `chunk_length`; dimensions before it are cut
  /// into single elements. The chunks are 2^outer groups, joined by a tree, of equally many each;
  /// where the first dimension is cut, a group is a whole part of it.
  std::size_t chunk_dim = 0;
  std::int64_t chunk_length = 1;
  int outer = 0;
  int inner = 0;  // halvings of a chunk, along the first dimension

  std::int64_t count() const;
  std::int64_t chunks() const;
  /// Parts that the tree over the chunks makes of the dimension that is cut, each `part()` long.
  std::int64_t parts() const { return chunk_dim == 0 ? std::int64_t{1} << outer : 1; }
  std::int64_t part() const { return extents[chunk_dim] / parts(); }
  std::int64_t blocks_of_part() const { return (part() + chunk_length - 1) / chunk_length; }
  std::int64_t blocks() const { return parts() * blocks_of_part(); }
};

/// Whether the equation reduces along the minor dimension of its operand.
bool reduces_minor(const Program& p, const Equation& eqn);

/// For a call of Emitter::reduce over `extents` by the rule of `eqn`. No extent may be zero.
ReduceShape reduce_shape(const Program& p, const Equation& eqn,
                         std::span<const std::int64_t> extents);

/// Lanes of partial results for an accumulator type, never more than the next power of two of the
/// last extent.
int reduce_lanes(const Equation& eqn, DType accumulator, std::int64_t last_extent);

}  // namespace tessera::inline v0::codegen
