// Emits ops as programs of other ops.
#pragma once

#include "ops/build.h"
#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo::write {

using Compose = Values (*)(const Writing& w, const Values& in);
/// Emits the program that `compose` builds from the operands.
Names composed(Writing& w, Compose compose);
/// An array filled with an integer.
Value whole(Builder& b, DType dtype, const Shape& shape, std::int64_t value);

}  // namespace tessera::inline v0::stablehlo::write
