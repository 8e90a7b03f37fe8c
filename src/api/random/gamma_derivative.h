// How a gamma draw moves with its parameter while its rank in the distribution stays.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::random {

/// d log(x) / d a at a fixed value of the distribution function, where log_x is the logarithm of a
/// draw of gamma(a): float64, of their one shape.
Array log_gamma_derivative(const Array& a, const Array& log_x);

}  // namespace tessera::inline v0::random
