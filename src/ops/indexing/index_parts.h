// Index vectors for sharded arrays: their components as integers wide enough for every position,
// made relative to the start of a device's shard.
#pragma once

#include "ops/indexing/indexing.h"

namespace tessera::inline v0::ops {

/// An integer array as int64; a value greater than every position remains so.
Value wide_index(Value x);
/// A wide index clamped to [0, last].
Value moved_inside(Value index, std::int64_t last);
/// Whether a wide index is in [0, last].
Value lies_inside(Value index, std::int64_t last);
/// The index minus the start of this device's shard of a dimension that has `parts` shards of
/// extent `part`.
Value from_part(Value index, const Strings& axes, std::int64_t parts, std::int64_t part);

/// Returns the components as wide arrays that have the shape of the indices without `vector_dim`.
Values index_components(Value indices, int vector_dim);
/// Stacks the components into index vectors along `vector_dim`; a single component may have no such
/// dimension (then vector_dim is the rank).
Value index_vectors(const Values& components, int vector_dim);

}  // namespace tessera::inline v0::ops
