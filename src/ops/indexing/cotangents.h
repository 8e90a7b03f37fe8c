// Sums of cotangents.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0::ops {

/// sum + part, where both are cotangents of one value. The cotangent of an array of which slices
/// were read is zero but for these: where `part` (or `sum`) is made like that, only they are added,
/// one by one, which costs what they do and not what the array does. A negative zero elsewhere
/// stays one.
Value add_cotangents(Value sum, Value part);

}  // namespace tessera::inline v0::ops
