// Integers given to functions of floats: converted before anything is computed of them, since their
// differences and negatives wrap.
#pragma once

#include <tessera/elementwise.h>

namespace tessera::inline v0::nn {

/// x, integers and booleans as what they are times 1.0.
inline Operand as_real(const Operand& x) {
  return is_floating(x.array.dtype()) ? x : Operand(multiply(x, 1.0), x.loc);
}
/// x, integers as float32, and those of 64 bits as float64: what functions "in floats" see.
inline Operand in_floats(const Operand& x) {
  return is_floating(x.array.dtype()) ? x : Operand(divide(x, 1), x.loc);
}

}  // namespace tessera::inline v0::nn
