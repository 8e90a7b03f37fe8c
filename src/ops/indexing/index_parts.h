// Index vectors of parts of arrays: their components as integers that hold every position, moved to
// where a device's part begins.
#pragma once

#include "ops/indexing/indexing.h"

namespace tessera::inline v0::ops {

/// An integer array as int64; what is greater than all positions stays so.
Value wide_index(Value x);
/// A wide index moved into [0, last].
Value moved_inside(Value index, std::int64_t last);
/// Where a wide index lies in [0, last].
Value lies_inside(Value index, std::int64_t last);
/// Less where this device's part of a dimension begins: of so many `parts`, each of extent `part`.
Value from_part(Value index, const Strings& axes, std::int64_t parts, std::int64_t part);

/// One array a component, wide, of the shape of the indices without `vector_dim`.
Values index_components(Value indices, int vector_dim);
/// Their vectors again, along `vector_dim`; one component alone may have none (it is the rank).
Value index_vectors(const Values& components, int vector_dim);

}  // namespace tessera::inline v0::ops
