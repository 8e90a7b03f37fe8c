// Elementary functions of complex numbers, for evaluators and emitted code alike, so that both give
// the same bits. Branch cuts, signed zeros and infinities are those of C99's Annex G.
#pragma once

#include "ir/emit.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// As platforms return it in two registers.
struct ComplexParts {
  double real, imag;
};

/// Of complex64, whose parts are computed in double and rounded by the caller, or of complex128,
/// computed in long double. Second operands are ignored by functions of one.
struct ComplexFunction {
  std::string name;  // of the symbol that emitted code calls
  ComplexParts (*call)(double real, double imag, double other_real, double other_imag);
};

/// Null where complex numbers have no such function here. `abs` gives a real number.
const ComplexFunction* complex_function(Arith op, bool wide);
const std::vector<ComplexFunction>& all_complex_functions();

/// The function of elements as they are stored.
template <class T>
std::complex<T> call_complex(Arith op, std::complex<T> x, std::complex<T> y = {}) {
  const ComplexParts r =
      complex_function(op, sizeof(T) == 8)->call(x.real(), x.imag(), y.real(), y.imag());
  return {static_cast<T>(r.real), static_cast<T>(r.imag)};
}

/// |x|; infinite where a part is, even beside NaN.
template <class T>
T magnitude(std::complex<T> x) {
  if (std::isinf(x.real()) || std::isinf(x.imag())) return std::numeric_limits<T>::infinity();
  if constexpr (std::is_same_v<T, float>) {
    // The squares of floats neither overflow nor lose anything in double.
    const double re = x.real(), im = x.imag();
    return static_cast<float>(std::sqrt(re * re + im * im));
  } else {
    return call_complex(Arith::abs, x).real();
  }
}

}  // namespace tessera::inline v0
