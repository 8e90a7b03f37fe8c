// Sums of cotangents.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0::ops {

/// sum + part for two cotangents of one value. The cotangent of an array that was read through
/// slices is zero outside them. If `part` (or `sum`) has that form, only its slices are added, one
/// by one, at the cost of the slices instead of the array. Negative zeros elsewhere are preserved.
Value add_cotangents(Value sum, Value part);

}  // namespace tessera::inline v0::ops
