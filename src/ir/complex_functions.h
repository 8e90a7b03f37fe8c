// Elementary functions of complex numbers. Evaluators and emitted code both call these, so both
// give the same bits. Branch cuts, signed zeros and infinities follow C99's Annex G.
#pragma once

#include "ir/emit.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// A complex result as two doubles, which platforms return in two registers.
struct ComplexParts {
  double real, imag;
};

/// A complex64 function computes its parts in double and the caller rounds them; a complex128
/// function computes in long double. Unary functions ignore the second operand.
struct ComplexFunction {
  std::string name;  // the symbol that emitted code calls
  ComplexParts (*call)(double real, double imag, double other_real, double other_imag);
};

/// Returns null if `op` is not defined for complex numbers. `abs` gives a real number.
const ComplexFunction* complex_function(Arith op, bool wide);
const std::vector<ComplexFunction>& all_complex_functions();

/// Applies the function to elements of the stored type and rounds the result to it.
template <class T>
std::complex<T> call_complex(Arith op, std::complex<T> x, std::complex<T> y = {}) {
  const ComplexParts r =
      complex_function(op, sizeof(T) == 8)->call(x.real(), x.imag(), y.real(), y.imag());
  return {static_cast<T>(r.real), static_cast<T>(r.imag)};
}

/// |x|; infinite if either part is infinite, even if the other is NaN.
template <class T>
T magnitude(std::complex<T> x) {
  if (std::isinf(x.real()) || std::isinf(x.imag())) return std::numeric_limits<T>::infinity();
  if constexpr (std::is_same_v<T, float>) {
    // The square of a float, converted to double, is exact and does not overflow.
    const double re = x.real(), im = x.imag();
    return static_cast<float>(std::sqrt(re * re + im * im));
  } else {
    return call_complex(Arith::abs, x).real();
  }
}

}  // namespace tessera::inline v0
