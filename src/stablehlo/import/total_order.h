// The total order of floats as an order of integers.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::stablehlo::rules {

/// Integers ordered like the floats x: -0 is below 0, and NaNs are beyond the infinities.
Value total_order(Value x);

}  // namespace tessera::inline v0::stablehlo::rules
