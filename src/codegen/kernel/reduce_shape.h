// The association of reductions, which depends only on the equation's shapes.
//
// A reduction over the minor dimension keeps a fixed number of lane-wise partial results, which a
// fixed tree combines, and long ones are cut into chunks. Every other reduction is halved
// recursively while its extent is even and longer than `kLeafRows`. The remaining lanes, leaves and
// chunks are combined in order, in runs of `kRun`, runs of runs and so on, so that the error grows
// with the logarithm of the count. If two devices each reduce one half and psum adds the results
// (in the same tree, runtime/cpu/reduce.h), the bits equal those of one device that reduces both
// halves. Chunks may be computed in parallel. Adjacent reduced dimensions count as one.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline v0::codegen {

/// Number of rows in a leaf, which are combined in order.
inline constexpr std::int64_t kLeafRows = 8;

/// Number of terms that one accumulator takes.
inline constexpr std::int64_t kRun = 32;

/// How often `rows` can be halved before a leaf is reached. Products that sum over rows, and
/// gradients of weights, which sum over images, use other leaf lengths, given by the other extents.
int halvings(std::int64_t rows, std::int64_t leaf = kLeafRows);

struct ReduceShape {
  std::vector<std::int64_t> extents;  // of the reduced box, with adjacent dimensions merged
  std::vector<std::size_t> merged;    // how many original dimensions each extent covers
  bool lanes = false;                 // lane-wise partial results along the last extent
  /// Dimension `chunk_dim` is cut into chunks of `chunk_length`, the dimensions before it into
  /// single elements. The chunks form 2^outer groups of equal size, which a tree combines. If the
  /// first dimension is cut, a group is one part of it.
  std::size_t chunk_dim = 0;
  std::int64_t chunk_length = 1;
  int outer = 0;
  int inner = 0;  // number of halvings within a chunk, along the first dimension

  std::int64_t count() const;
  std::int64_t chunks() const;
  /// Number of parts, of length `part()` each, into which the tree over chunks divides the cut
  /// dimension.
  std::int64_t parts() const { return chunk_dim == 0 ? std::int64_t{1} << outer : 1; }
  std::int64_t part() const { return extents[chunk_dim] / parts(); }
  std::int64_t blocks_of_part() const { return (part() + chunk_length - 1) / chunk_length; }
  std::int64_t blocks() const { return parts() * blocks_of_part(); }
};

/// Whether the equation reduces along the minor dimension of its operand.
bool reduces_minor(const Program& p, const Equation& eqn);

/// The shape for a call of Emitter::reduce over `extents` by the rule of `eqn`. No extent may be
/// zero.
ReduceShape reduce_shape(const Program& p, const Equation& eqn,
                         std::span<const std::int64_t> extents);

/// Number of lanes of partial results for an accumulator type, at most the next power of two of the
/// last extent.
int reduce_lanes(const Equation& eqn, DType accumulator, std::int64_t last_extent);

}  // namespace tessera::inline v0::codegen
