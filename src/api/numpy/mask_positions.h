// What a mask chooses, where how much that is is a matter of values.
#pragma once

#include "api/numpy/array_helpers.h"

namespace tessera::inline v0::detail {

/// The positions of the first `size` true elements of a vector, of index_dtype, 0 where there are
/// fewer; and which of them there are.
struct MaskPositions {
  Array positions, valid;
};
MaskPositions mask_positions(const Array& mask, std::int64_t size);

/// How many results there are: `size`, else what `count` gives, a scalar, where it can be read.
/// TraceError in the name of `function`, with the name of the option, where x or the call is traced,
/// ShapeError for a negative size.
std::int64_t result_size(const char* function, std::span<const Array> xs,
                         const std::optional<std::int64_t>& size, const SourceLoc& loc,
                         const std::function<Array()>& count, const char* option = "size");

/// `values` where `valid`, rows of them, and `fill` elsewhere.
Array filled(const Array& values, const Array& valid, const Array& fill);

}  // namespace tessera::inline v0::detail
