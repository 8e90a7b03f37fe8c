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

// The functions below are of real numbers: DTypeError of complex ones. Those of float32 and below
// are computed in float64 and rounded once.

/// The gamma function; NaN at the negative integers.
TESSERA_API Array gamma(Operand x);
/// Its sign: that of a zero at zero, NaN at the negative integers.
TESSERA_API Array gammasgn(Operand x);
/// gamma(n + 1), 0 below zero.
TESSERA_API Array factorial(Operand n);
/// gamma(z + m) / gamma(z): z (z + 1) ... (z + m - 1) of an integer m.
TESSERA_API Array poch(Operand z, Operand m);
/// The number of ways to choose k of n things, 1 / ((n + 1) beta(n - k + 1, k + 1)); 0 of negative
/// numbers and for k above n. That of integers is one up to 2 ** 45.
TESSERA_API Array comb(Operand n, Operand k);
/// gamma(a) gamma(b) / gamma(a + b), of either sign.
TESSERA_API Array beta(Operand a, Operand b);
/// log |gamma(a) gamma(b) / gamma(a + b)|.
TESSERA_API Array betaln(Operand a, Operand b);
/// The logarithm of the multivariate gamma function of dimension d. Throws Error for d below 1.
TESSERA_API Array multigammaln(Operand a, std::int64_t d);
/// The Hurwitz zeta function, the sum of (q + k) ** -s over k from 0, for s > 1 and q > 0: infinite
/// at s = 1 and q = 0, NaN below.
TESSERA_API Array zeta(Operand s, Operand q);

/// The regularised incomplete gamma functions, lower and upper, of a >= 0 and x >= 0, NaN elsewhere.
/// Differentiable in both, once in a.
TESSERA_API Array gammainc(Operand a, Operand x);
TESSERA_API Array gammaincc(Operand a, Operand x);
/// The same, by the names of jax.lax.
TESSERA_API Array igamma(Operand a, Operand x);
TESSERA_API Array igammac(Operand a, Operand x);
/// The regularised incomplete beta function of a, b > 0 and x from 0 to 1, NaN elsewhere.
/// Differentiable in all three, once in a and b.
TESSERA_API Array betainc(Operand a, Operand b, Operand x);
/// The exponential integral Ei; -infinity at zero.
TESSERA_API Array expi(Operand x);
/// The exponential integral E1, -Ei(-x); infinity at zero, NaN below.
TESSERA_API Array exp1(Operand x);
/// The integral of exp(-x t) / t ** n over t from 1 on, for n from 0 to 1000 and x >= 0, NaN below.
/// Throws Error for another n.
TESSERA_API Array expn(std::int64_t n, Operand x);
/// The dilogarithm of 1 - x, the integral of log(t) / (1 - t) from 1 to x, for x >= 0, NaN below.
TESSERA_API Array spence(Operand x);
/// exp(x ** 2) erfc(x), and Dawson's function, exp(-x ** 2) times the integral of exp(t ** 2) from 0
/// to x.
TESSERA_API Array erfcx(Operand x);
TESSERA_API Array dawsn(Operand x);
/// The Bernoulli numbers B_0, ..., B_n, of shape (n + 1,), with B_1 = -1/2; infinite from B_66 on,
/// of float64 from B_260 on. Throws Error for n below 0 and above 10000, DTypeError for dtypes that
/// are not floats.
TESSERA_API Array bernoulli(std::int64_t n, DType dtype = DType::float32,
                            std::source_location loc = std::source_location::current());

/// The modified Bessel functions of order 0 and 1, and the same times exp(-|x|).
TESSERA_API Array i0(Operand x);
TESSERA_API Array i0e(Operand x);
TESSERA_API Array i1(Operand x);
TESSERA_API Array i1e(Operand x);

/// The distribution function of the standard normal distribution, its logarithm, exact in both
/// tails, and its inverse.
TESSERA_API Array ndtr(Operand x);
TESSERA_API Array log_ndtr(Operand x);
TESSERA_API Array ndtri(Operand p);
/// log(x / (1 - x)).
TESSERA_API Array logit(Operand x);

/// (x ** power - 1) / power and ((1 + x) ** power - 1) / power; where the power is 0 the logarithm.
TESSERA_API Array boxcox(Operand x, Operand power);
TESSERA_API Array boxcox1p(Operand x, Operand power);

/// x log(y) and x log(1 + y), 0 where x is 0.
TESSERA_API Array xlogy(Operand x, Operand y);
TESSERA_API Array xlog1py(Operand x, Operand y);
/// -x log(x), 0 at zero, -infinity below.
TESSERA_API Array entr(Operand x);
/// x log(x / y), 0 where x is 0 and y is not below it, infinite where they are not probabilities; and
/// the same - x + y.
TESSERA_API Array rel_entr(Operand x, Operand y);
TESSERA_API Array kl_div(Operand x, Operand y);

}  // namespace tessera::inline v0
