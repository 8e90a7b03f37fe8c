// Densities of distributions, as jax.scipy.stats names them.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::stats::multivariate_normal {

/// The logarithm of the density at x (..., n) of normal vectors of this mean (..., n) and
/// covariance (..., n, n), of which the axes in front broadcast; a number as covariance is the
/// variance of each element, and one as mean makes it the density of normal numbers. In floats. NaN
/// where cov is not positive definite. ShapeError where they are not of one n, DTypeError for
/// complex numbers.
TESSERA_API Array logpdf(Operand x, Operand mean, Operand cov);
/// The density itself.
TESSERA_API Array pdf(Operand x, Operand mean, Operand cov);

}  // namespace tessera::inline v0::stats::multivariate_normal
