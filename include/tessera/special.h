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
