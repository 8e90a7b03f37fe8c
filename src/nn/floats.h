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
/// f of x, in float32 where x is of 16 bits: what is computed in several steps is rounded once.
template <class F>
Array in_float32(const Operand& x, F f) {
  const DType d = x.array.dtype();
  if (!is_floating(d) || size_of(d) > 2) return f(x);
  return astype(Operand(f(Operand(astype(x, DType::float32), x.loc)), x.loc), d);
}

}  // namespace tessera::inline v0::nn
