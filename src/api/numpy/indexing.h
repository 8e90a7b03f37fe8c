// Indexing on values by NumPy's rules: positions, ranges, new axes and integer arrays.
#pragma once

#include "api/trace/composite.h"

namespace tessera::inline v0::detail {

/// Indexes x with `index`, whose integer arrays have their values in `arrays`, in order. Throws
/// ShapeError if a position or range is out of bounds; out-of-bounds entries of arrays follow
/// `mode`, "clip" or "fill" as in the gather op.
Value get_index(Value x, const std::vector<AxisIndex>& index, std::span<const Value> arrays,
                const char* name, const std::string& mode);

/// Takes integer positions along one axis; the axes of `positions` replace that axis.
Value take_axis(Value x, Value positions, int axis, const std::string& mode);

/// int32, or int64 if an axis of `n` elements needs it.
DType index_dtype(std::int64_t n);
/// Positions in index_dtype, where negative ones count from the end. Out-of-bounds positions stay
/// out of bounds.
Value wrap_negative(Value positions, std::int64_t n);
/// As wrap_negative, but negative positions do not count from the end.
Value index_value(Value positions, std::int64_t n);

}  // namespace tessera::inline v0::detail
