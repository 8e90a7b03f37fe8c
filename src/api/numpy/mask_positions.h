// Elements that a mask selects, whose number depends on the values.
#pragma once

#include "api/numpy/array_helpers.h"

namespace tessera::inline v0::detail {

/// The positions (in index_dtype) of the first `size` true elements of a vector, padded with 0 if
/// there are fewer; `valid` is false for the padding.
struct MaskPositions {
  Array positions, valid;
};
MaskPositions mask_positions(const Array& mask, std::int64_t size);

/// The number of results: `size` if given, else the value of the scalar that `count` returns.
/// Throws TraceError, naming `function` and the option, if that value cannot be read because x or
/// the call is traced, and ShapeError if the size is negative.
std::int64_t result_size(const char* function, std::span<const Array> xs,
                         const std::optional<std::int64_t>& size, const SourceLoc& loc,
                         const std::function<Array()>& count, const char* option = "size");

/// The rows of `values` where `valid` holds, and `fill` elsewhere.
Array filled(const Array& values, const Array& valid, const Array& fill);

}  // namespace tessera::inline v0::detail
