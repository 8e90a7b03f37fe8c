// The incomplete gamma and beta functions by sums of doubles, which all transformations go through:
// for their derivatives, and for results that are narrower than a double.
#pragma once

#include "api/special/in_float64.h"

namespace tessera::inline v0::detail {

/// x^a exp(-x) / gamma(a + 1).
Array plain_gamma_factor(const Array& a, const Array& x);
/// Terms below `enough` of the sum end it.
Array plain_gamma_part(const Array& a, const Array& x, bool upper, double enough);
Array plain_log_beta(const Array& a, const Array& b);
Array plain_beta_part(const Array& a, const Array& b, const Array& x, double enough);
/// Its derivative in x.
Array plain_beta_density(const Array& a, const Array& b, const Array& x);
constexpr double kEnoughForDoubles = 0x1p-56, kEnoughForFloats = 0x1p-32;

}  // namespace tessera::inline v0::detail
