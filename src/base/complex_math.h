// Products and quotients of complex numbers by the same formulas as emitted kernels. The operators
// of std::complex depend on compile flags and try to repair NaN results.
#pragma once

#include <tessera/dtype.h>

#include <cmath>
#include <complex>

namespace tessera::inline v0 {

/// x * y, for real numbers too. If two equal complex numbers are multiplied and the squares of
/// their parts are out of range, the real part is (re - im)(re + im). This depends on values alone,
/// so the result does not depend on whether the program knows that the operands are the same value.
template <class T>
T times(T x, T y) {
  if constexpr (is_complex_v<T>) {
    const auto re = x.real(), im = x.imag();
    const auto plain = re * y.real() - im * y.imag();
    const auto none = plain - plain;  // NaN if `plain` is out of range
    return {x == y && none != none ? (re - im) * (re + im) : plain, re * y.imag() + im * y.real()};
  } else {
    return x * y;
  }
}

/// x / y by R. L. Smith's formula ("Algorithm 116: complex division", 1962), whose intermediate
/// numbers stay in range. Division by zero gives an infinity or NaN for each part.
template <class T>
T over(T x, T y) {
  if constexpr (!is_complex_v<T>) {
    return x / y;
  } else {
    const auto a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    if (c == 0 && d == 0) return {a / std::fabs(c), b / std::fabs(c)};
    if (std::fabs(c) >= std::fabs(d)) {
      const auto ratio = d / c, whole = c + d * ratio;
      return {(a + b * ratio) / whole, (b - a * ratio) / whole};
    }
    const auto ratio = c / d, whole = c * ratio + d;
    return {(a * ratio + b) / whole, (b * ratio - a) / whole};
  }
}

}  // namespace tessera::inline v0
