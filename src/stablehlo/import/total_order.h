// The order of floats as that of integers.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::stablehlo::rules {

/// Integers in the order of the floats x: -0 below 0, NaN beyond the infinities.
Value total_order(Value x);

}  // namespace tessera::inline v0::stablehlo::rules
