// The incomplete gamma and beta functions by sums of doubles, which all transformations go through:
// for their derivatives.
#pragma once

#include "api/numpy/doubles.h"

namespace tessera::inline v0::detail {

/// x^a exp(-x) / gamma(a + 1).
Array plain_gamma_factor(const Array& a, const Array& x);
Array plain_gamma_part(const Array& a, const Array& x, bool upper);
Array plain_log_beta(const Array& a, const Array& b);
Array plain_beta_part(const Array& a, const Array& b, const Array& x);

}  // namespace tessera::inline v0::detail
