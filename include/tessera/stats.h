// Densities of distributions under the names of jax.scipy.stats.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::stats::multivariate_normal {

/// The log-density at x (..., n) of the normal distribution with mean (..., n) and covariance (...,
/// n, n), in floats. Leading axes broadcast. A scalar covariance is the variance of each element;
/// with a scalar mean as well, the distribution is univariate. NaN if cov is not positive definite.
/// Throws ShapeError if the sizes n differ, and DTypeError for complex numbers.
TESSERA_API Array logpdf(Operand x, Operand mean, Operand cov);
/// The density itself.
TESSERA_API Array pdf(Operand x, Operand mean, Operand cov);

}  // namespace tessera::inline v0::stats::multivariate_normal
