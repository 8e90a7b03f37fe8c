// The Faddeeva function in the first quadrant, for the functions composed of it.
#pragma once

#include "api/special/double_double.h"

namespace tessera::inline v0::detail {

/// The real and imaginary parts of complex numbers, in float64.
struct Parts {
  Array re, im;
};
Parts operator+(const Parts& z, const Parts& w);
Parts operator-(const Parts& z, const Parts& w);
Parts operator*(const Parts& z, const Parts& w);
Parts operator*(const Array& x, const Parts& z);
Parts operator/(const Parts& z, const Parts& w);
Parts chosen(const Array& condition, const Parts& z, const Parts& w);

/// exp(-z ** 2) for finite z, computed without the error of rounding z ** 2; infinite on overflow.
Parts gaussian_of(const Array& x, const Array& y);
/// The Faddeeva function at x + iy for x, y >= 0, neither NaN.
Parts faddeeva_in_first_quadrant(const Array& x, const Array& y);

}  // namespace tessera::inline v0::detail
