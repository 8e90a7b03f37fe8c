// Special functions, as jax.scipy.special names them. In floats, as the functions of elementwise.h.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0 {

/// The logarithm of the magnitude of the gamma function.
TESSERA_API Array gammaln(Operand x);
/// Its derivative; NaN at zero and at the negative integers.
TESSERA_API Array digamma(Operand x);
/// The n-th derivative of digamma, n from 0 to 100; where n is not 0, infinite at 0 and NaN below.
/// Throws Error for another n.
TESSERA_API Array polygamma(std::int64_t n, Operand x);

}  // namespace tessera::inline v0
