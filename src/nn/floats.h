// Converts integer operands of functions on floats before any arithmetic, since integer differences
// and negatives wrap.
#pragma once

#include <tessera/elementwise.h>

namespace tessera::inline v0::nn {

/// x; integers and booleans in the dtype of x * 1.0.
inline Operand as_real(const Operand& x) {
  return is_floating(x.array.dtype()) ? x : Operand(multiply(x, 1.0), x.loc);
}
/// x; integers as float32, or float64 if they have 64 bits, as elementwise functions that compute
/// in floats convert them.
inline Operand in_floats(const Operand& x) {
  return is_floating(x.array.dtype()) ? x : Operand(divide(x, 1), x.loc);
}
/// f of x, computed in float32 if x has 16 bits, so that a computation of several steps is rounded
/// once.
template <class F>
Array in_float32(const Operand& x, F f) {
  const DType d = x.array.dtype();
  if (!is_floating(d) || size_of(d) > 2) return f(x);
  return astype(Operand(f(Operand(astype(x, DType::float32), x.loc)), x.loc), d);
}

}  // namespace tessera::inline v0::nn
