// The incomplete gamma and beta functions by sums in doubles. All transformations pass through
// them, so they provide derivatives, and results narrower than float64.
#pragma once

#include "api/special/in_float64.h"

namespace tessera::inline v0::detail {

/// x^a exp(-x) / gamma(a + 1).
Array plain_gamma_factor(const Array& a, const Array& x);
/// The sum ends when its terms fall below `enough`.
Array plain_gamma_part(const Array& a, const Array& x, bool upper, double enough);
Array plain_log_beta(const Array& a, const Array& b);
Array plain_beta_part(const Array& a, const Array& b, const Array& x, double enough);
/// The derivative of plain_beta_part in x.
Array plain_beta_density(const Array& a, const Array& b, const Array& x);
constexpr double kEnoughForDoubles = 0x1p-56, kEnoughForFloats = 0x1p-32;

}  // namespace tessera::inline v0::detail
