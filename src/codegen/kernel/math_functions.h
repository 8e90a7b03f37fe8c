// Vector math functions of SLEEF by operation, for the processor at hand.
#pragma once

#include "ir/emit.h"

#include <vector>

namespace tessera::inline v0::codegen {

struct MathFunction {
  const char* name;
  void* address;
};

/// The function over host_isa().math32 floats, or math64 doubles; `name` is null when there is
/// none. All are accurate to 1.5 ulp or better, but for tanh of doubles: its 3.5 ulp (2.7 seen)
/// cost a third of the time.
MathFunction math_function(Arith op, bool f64);
/// Every function that emitted code may call, for the linker.
const std::vector<MathFunction>& all_math_functions();

}  // namespace tessera::inline v0::codegen
