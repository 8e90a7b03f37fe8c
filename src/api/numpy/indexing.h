// Indexing on values: NumPy's rules for positions, ranges, new axes and integer arrays.
#pragma once

#include "api/trace/composite.h"

namespace tessera::inline v0::detail {

/// x picked by `index`; `arrays` holds the values of its integer arrays in order. Positions and
/// ranges outside raise ShapeError; array entries outside follow `mode` ("clip" or "fill" of the
/// gather op).
Value get_index(Value x, const std::vector<AxisIndex>& index, std::span<const Value> arrays,
                const char* name, const std::string& mode);

/// x at integer positions along one axis, positions in place of that axis.
Value take_axis(Value x, Value positions, int axis, const std::string& mode);

/// int32, or int64 where an axis of `n` elements needs it.
DType index_dtype(std::int64_t n);
/// Positions in that dtype, those outside the axis still outside. Negative ones count from the end.
Value wrap_negative(Value positions, std::int64_t n);
/// As wrap_negative, but nothing counts from the end.
Value index_value(Value positions, std::int64_t n);

}  // namespace tessera::inline v0::detail
