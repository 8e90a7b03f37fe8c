// The derivative of a gamma draw with respect to its parameter at a fixed quantile.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::random {

/// d log(x) / d a at a fixed value of the distribution function, where log_x is the logarithm of a
/// draw from gamma(a). Operands and result are float64 of one shape.
Array log_gamma_derivative(const Array& a, const Array& log_x);

}  // namespace tessera::inline v0::random
