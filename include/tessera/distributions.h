// Random numbers of many distributions under the names of jax.random, with the same values for the
// same key up to rounding. Each draw depends only on the key and its position.
//
// Parameters are arrays or numbers that broadcast to `shape`, which defaults to their broadcast
// shape. Throws DTypeError if the dtype is not floating, and ShapeError if a parameter does not
// broadcast to the shape. Draws are differentiable in their parameters, except counts, which are
// constant almost everywhere. Gamma and related distributions use the implicit derivative of the
// distribution function (Figurnov et al. 2018).
#pragma once

#include <tessera/array.h>
#include <tessera/detail/braces.h>

#include <optional>
#include <string>

namespace tessera::inline v0::random {

/// Standard Cauchy: tan(pi * (u - 1/2)).
TESSERA_API Array cauchy(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(cauchy, "random::cauchy(key, {2, 3})");
/// Standard Laplace: an exponential of rate 1 with a random sign.
TESSERA_API Array laplace(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(laplace, "random::laplace(key, {2, 3})");
/// Standard logistic: log(u / (1 - u)).
TESSERA_API Array logistic(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(logistic, "random::logistic(key, {2, 3})");
/// The length of a standard normal vector in three dimensions.
TESSERA_API Array maxwell(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(maxwell, "random::maxwell(key, {2, 3})");
/// loc + scale * (maxwell with a random sign). The result's shape is `shape` followed by the
/// parameters' shape; without a shape it is the parameters' shape twice, as in JAX.
TESSERA_API Array double_sided_maxwell(Operand key, Operand loc, Operand scale,
                                       const Shape& shape = {}, DType dtype = DType::float32);
/// -1 or 1 with probability 1/2 each, in any dtype that holds -1.
TESSERA_API Array rademacher(Operand key, const Shape& shape = {}, DType dtype = DType::int32);
TESSERA_LATER_SHAPE_IN_BRACES_(rademacher, "random::rademacher(key, {2, 3})");
/// exp(sigma * normal).
TESSERA_API Array lognormal(Operand key, Operand sigma = 1.0, std::optional<Shape> shape = {},
                            DType dtype = DType::float32);
/// Pareto with exponent b and minimum 1: exp(exponential / b).
TESSERA_API Array pareto(Operand key, Operand b, std::optional<Shape> shape = {},
                         DType dtype = DType::float32);
/// Rayleigh: scale * sqrt(-2 log(u)).
TESSERA_API Array rayleigh(Operand key, Operand scale, std::optional<Shape> shape = {},
                           DType dtype = DType::float32);
/// Weibull: scale * (-log(1 - u))^(1 / concentration).
TESSERA_API Array weibull_min(Operand key, Operand scale, Operand concentration,
                              std::optional<Shape> shape = {}, DType dtype = DType::float32);
/// Wald, or inverse Gaussian, with the given mean and scale 1 (Michael, Schucany and Haas 1976).
TESSERA_API Array wald(Operand key, Operand mean, std::optional<Shape> shape = {},
                       DType dtype = DType::float32);
/// Triangular between left and right, with its peak at mode.
TESSERA_API Array triangular(Operand key, Operand left, Operand mode, Operand right,
                             std::optional<Shape> shape = {}, DType dtype = DType::float32);

/// Gamma with shape parameter a and rate 1 (Marsaglia and Tsang 2000).
TESSERA_API Array gamma(Operand key, Operand a, std::optional<Shape> shape = {},
                        DType dtype = DType::float32);
/// The logarithm of a gamma variate, which does not underflow for small a.
TESSERA_API Array loggamma(Operand key, Operand a, std::optional<Shape> shape = {},
                           DType dtype = DType::float32);
/// Beta: x / (x + y), where x and y are gamma variates with parameters a and b.
TESSERA_API Array beta(Operand key, Operand a, Operand b, std::optional<Shape> shape = {},
                       DType dtype = DType::float32);
/// Chi-square with df degrees of freedom.
TESSERA_API Array chisquare(Operand key, Operand df, std::optional<Shape> shape = {},
                            DType dtype = DType::float32);
/// Dirichlet with parameters alpha (..., n): probabilities along the last axis. `shape` excludes
/// that axis.
TESSERA_API Array dirichlet(Operand key, Operand alpha, std::optional<Shape> shape = {},
                            DType dtype = DType::float32);
/// F with dfnum and dfden degrees of freedom: the ratio of two chi-squares, each divided by its
/// degrees.
TESSERA_API Array f(Operand key, Operand dfnum, Operand dfden, std::optional<Shape> shape = {},
                    DType dtype = DType::float32);
/// Student's t with df degrees of freedom.
TESSERA_API Array t(Operand key, Operand df, std::optional<Shape> shape = {},
                    DType dtype = DType::float32);
/// The generalised normal distribution, whose density is proportional to exp(-|x|^p).
TESSERA_API Array generalized_normal(Operand key, double p, const Shape& shape = {},
                                     DType dtype = DType::float32);
/// Uniform points in the unit ball of the p-norm in d dimensions, along the last axis.
TESSERA_API Array ball(Operand key, std::int64_t d, double p = 2.0, const Shape& shape = {},
                       DType dtype = DType::float32);

/// Normal vectors with this mean (..., n) and covariance (..., n, n), along the last axis, which
/// `shape` excludes. `method` is the factorisation of the covariance: "cholesky", which gives NaN
/// if it is not positive definite, or "eigh" or "svd", which accept singular ones; the three give
/// different draws. Throws Error for any other method, and ShapeError unless mean and cov are
/// vectors and matrices with the same n.
TESSERA_API Array multivariate_normal(Operand key, Operand mean, Operand cov,
                                      std::optional<Shape> shape = {}, DType dtype = DType::float32,
                                      const std::string& method = "cholesky");
/// Uniformly distributed (Haar) orthogonal matrices (..., n, n). With m the shape is (..., n, m)
/// with orthonormal columns, or orthonormal rows if n < m. Throws ShapeError for negative extents.
TESSERA_API Array orthogonal(Operand key, std::int64_t n, const Shape& shape = {},
                             DType dtype = DType::float32, std::optional<std::int64_t> m = {});

/// The number of trials with success probability p up to the first success, at least 1, in an
/// integer dtype.
TESSERA_API Array geometric(Operand key, Operand p, std::optional<Shape> shape = {},
                            DType dtype = DType::int32);
/// Poisson with rate lam in an integer dtype; 0 if lam is 0. Uses Knuth's product of uniforms below
/// 10 and Hoermann's transformed rejection above.
TESSERA_API Array poisson(Operand key, Operand lam, std::optional<Shape> shape = {},
                          DType dtype = DType::int32);
/// The number of successes among n trials of probability p, in floats. NaN if n is negative, or p
/// is negative or NaN. Uses inversion if few successes are expected and Hoermann's transformed
/// rejection otherwise.
TESSERA_API Array binomial(Operand key, Operand n, Operand p, std::optional<Shape> shape = {},
                           DType dtype = DType::float32);

}  // namespace tessera::inline v0::random
