// SLEEF's vector math functions by operation, for this processor.
#pragma once

#include "ir/emit.h"

#include <vector>

namespace tessera::inline v0::codegen {

struct MathFunction {
  const char* name;
  void* address;
};

/// The function over host_isa().math32 floats or math64 doubles; `name` is null if there is none.
/// All are accurate to 1.5 ulp or better, except tanh of doubles: its version of 3.5 ulp (2.7 seen)
/// takes a third of the time.
MathFunction math_function(Arith op, bool f64);
/// All functions that emitted code may call, for the linker.
const std::vector<MathFunction>& all_math_functions();

}  // namespace tessera::inline v0::codegen
