// Random numbers of many distributions, as jax.random names them, with the same values for the same
// key to rounding. What a draw is made of depends on the key and on its position only.
//
// Parameters are arrays or numbers that broadcast to `shape`; without a shape it is what they
// broadcast to. The dtype is a floating one: DTypeError otherwise. ShapeError where a parameter
// does not broadcast to the shape. Draws are differentiable in their parameters, those of gamma and
// its kin by the implicit derivative of the distribution function (Figurnov et al. 2018), but for
// counts, which are constant almost everywhere.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/braces.h>

#include <optional>
#include <string>

namespace tessera::inline v0::random {

/// Standard Cauchy: tan(pi * (u - 1/2)).
TESSERA_API Array cauchy(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(cauchy, "random::cauchy(key, {2, 3})");
/// Standard Laplace: exponential of rate 1 with a random sign.
TESSERA_API Array laplace(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(laplace, "random::laplace(key, {2, 3})");
/// Standard logistic: log(u / (1 - u)).
TESSERA_API Array logistic(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(logistic, "random::logistic(key, {2, 3})");
/// The length of a standard normal vector in three dimensions.
TESSERA_API Array maxwell(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(maxwell, "random::maxwell(key, {2, 3})");
/// loc + scale * (maxwell with a random sign). Of shape `shape` followed by the parameters' shape;
/// of the parameters' shape twice where none is given, as in JAX.
TESSERA_API Array double_sided_maxwell(Operand key, Operand loc, Operand scale,
                                       const Shape& shape = {}, DType dtype = DType::float32);
/// -1 or 1, each with probability 1/2. Any dtype that holds -1.
TESSERA_API Array rademacher(Operand key, const Shape& shape = {}, DType dtype = DType::int32);
TESSERA_LATER_SHAPE_IN_BRACES_(rademacher, "random::rademacher(key, {2, 3})");
/// exp(sigma * normal).
TESSERA_API Array lognormal(Operand key, Operand sigma = 1.0, std::optional<Shape> shape = {},
                            DType dtype = DType::float32);
/// Pareto of exponent b, at least 1: exp(exponential / b).
TESSERA_API Array pareto(Operand key, Operand b, std::optional<Shape> shape = {},
                         DType dtype = DType::float32);
/// Rayleigh: scale * sqrt(-2 log(u)).
TESSERA_API Array rayleigh(Operand key, Operand scale, std::optional<Shape> shape = {},
                           DType dtype = DType::float32);
/// Weibull: scale * (-log(1 - u))^(1 / concentration).
TESSERA_API Array weibull_min(Operand key, Operand scale, Operand concentration,
                              std::optional<Shape> shape = {}, DType dtype = DType::float32);
/// Wald, or inverse Gaussian, of this mean and of scale 1 (Michael, Schucany and Haas 1976).
TESSERA_API Array wald(Operand key, Operand mean, std::optional<Shape> shape = {},
                       DType dtype = DType::float32);
/// Triangular between left and right, most probable at mode.
TESSERA_API Array triangular(Operand key, Operand left, Operand mode, Operand right,
                             std::optional<Shape> shape = {}, DType dtype = DType::float32);

/// Gamma of shape parameter a and rate 1 (Marsaglia and Tsang 2000).
TESSERA_API Array gamma(Operand key, Operand a, std::optional<Shape> shape = {},
                        DType dtype = DType::float32);
/// The logarithm of such, which small a do not underflow.
TESSERA_API Array loggamma(Operand key, Operand a, std::optional<Shape> shape = {},
                           DType dtype = DType::float32);
/// Beta: x / (x + y), where x and y are gamma of a and b.
TESSERA_API Array beta(Operand key, Operand a, Operand b, std::optional<Shape> shape = {},
                       DType dtype = DType::float32);
/// Chi-square of df degrees of freedom.
TESSERA_API Array chisquare(Operand key, Operand df, std::optional<Shape> shape = {},
                            DType dtype = DType::float32);
/// Probabilities along a last axis, Dirichlet of parameters alpha (..., n). `shape` has no place
/// for that axis.
TESSERA_API Array dirichlet(Operand key, Operand alpha, std::optional<Shape> shape = {},
                            DType dtype = DType::float32);
/// F of dfnum and dfden degrees of freedom: the ratio of two chi-squares, each over its degrees.
TESSERA_API Array f(Operand key, Operand dfnum, Operand dfden, std::optional<Shape> shape = {},
                    DType dtype = DType::float32);
/// Student's t of df degrees of freedom.
TESSERA_API Array t(Operand key, Operand df, std::optional<Shape> shape = {},
                    DType dtype = DType::float32);
/// Density proportional to exp(-|x|^p).
TESSERA_API Array generalized_normal(Operand key, double p, const Shape& shape = {},
                                     DType dtype = DType::float32);
/// Points of the unit ball of the p-norm in d dimensions, the last axis, uniformly.
TESSERA_API Array ball(Operand key, std::int64_t d, double p = 2.0, const Shape& shape = {},
                       DType dtype = DType::float32);

/// Normal vectors of this mean (..., n) and covariance (..., n, n), along a last axis for which
/// `shape` has no place. What a standard normal is multiplied by is the covariance's factor by
/// `method`: "cholesky", NaN where it is not positive definite, or "eigh" or "svd", which take
/// singular ones; the three give different draws. Error for another method, ShapeError where mean
/// and cov are no vectors and matrices of one n.
TESSERA_API Array multivariate_normal(Operand key, Operand mean, Operand cov,
                                      std::optional<Shape> shape = {}, DType dtype = DType::float32,
                                      const std::string& method = "cholesky");
/// Orthogonal matrices (..., n, n), uniformly (by Haar's measure); with m, of (..., n, m), whose
/// columns are orthonormal, or whose rows are where n < m. ShapeError for negative extents.
TESSERA_API Array orthogonal(Operand key, std::int64_t n, const Shape& shape = {},
                             DType dtype = DType::float32, std::optional<std::int64_t> m = {});

/// The number of trials of probability p up to the first success, at least 1; an integer dtype.
TESSERA_API Array geometric(Operand key, Operand p, std::optional<Shape> shape = {},
                            DType dtype = DType::int32);
/// Poisson of rate lam, of an integer dtype; 0 where lam is 0 (Knuth's product of uniforms below
/// 10, Hoermann's transformed rejection above).
TESSERA_API Array poisson(Operand key, Operand lam, std::optional<Shape> shape = {},
                          DType dtype = DType::int32);
/// The number of successes among n trials of probability p, in floats: NaN where n is negative or p
/// below 0 or NaN (inversion where few are expected, Hoermann's transformed rejection elsewhere).
TESSERA_API Array binomial(Operand key, Operand n, Operand p, std::optional<Shape> shape = {},
                           DType dtype = DType::float32);

}  // namespace tessera::inline v0::random
