// Special functions, under the names of jax.scipy.special. They compute in floating point, as do
// the functions of elementwise.h.
#pragma once

#include <tessera/array.h>

#include <utility>

namespace tessera::inline v0 {

/// The logarithm of the magnitude of the gamma function.
TESSERA_API Array gammaln(Operand x);
/// log(gamma(x)). For real x: NaN below 0, infinite at 0. For complex x: the principal branch,
/// whose cut is the negative real axis, where the sign of a zero imaginary part selects the side;
/// NaN at the poles. The derivative is digamma, also for complex x.
TESSERA_API Array loggamma(Operand x);
/// The derivative of loggamma; NaN at zero and at the negative integers.
TESSERA_API Array digamma(Operand x);
/// The n-th derivative of digamma, n from 0 to 100. For n > 0 it is infinite at 0 and NaN below.
/// Throws Error for any other n.
TESSERA_API Array polygamma(std::int64_t n, Operand x);

// The functions below take real numbers only and throw DTypeError for complex ones. Results of
// float32 and smaller types are computed in float64 and rounded once.

/// The gamma function; NaN at the negative integers.
TESSERA_API Array gamma(Operand x);
/// The sign of the gamma function: the sign of a zero at zero, NaN at the negative integers.
TESSERA_API Array gammasgn(Operand x);
/// gamma(n + 1), or 0 if n is negative.
TESSERA_API Array factorial(Operand n);
/// gamma(z + m) / gamma(z), which is z (z + 1) ... (z + m - 1) for an integer m.
TESSERA_API Array poch(Operand z, Operand m);
/// The binomial coefficient 1 / ((n + 1) beta(n - k + 1, k + 1)); 0 for negative arguments and for
/// k > n. For integers n and k the result is an exact integer up to 2 ** 45.
TESSERA_API Array comb(Operand n, Operand k);
/// gamma(a) gamma(b) / gamma(a + b), with its sign.
TESSERA_API Array beta(Operand a, Operand b);
/// log |gamma(a) gamma(b) / gamma(a + b)|.
TESSERA_API Array betaln(Operand a, Operand b);
/// The logarithm of the multivariate gamma function of dimension d. Throws Error if d is below 1 or
/// above 10000.
TESSERA_API Array multigammaln(Operand a, std::int64_t d);
/// The Hurwitz zeta function, the sum of (q + k) ** -s over k >= 0, for s > 1 and q > 0; infinite
/// at s = 1 and at q = 0, NaN below.
TESSERA_API Array zeta(Operand s, Operand q);

/// The regularised lower incomplete gamma function for a >= 0 and x >= 0; NaN elsewhere.
/// Differentiable in both arguments, but only once in a.
TESSERA_API Array gammainc(Operand a, Operand x);
/// The regularised upper incomplete gamma function, 1 - gammainc(a, x), accurate where that is
/// close to 0.
TESSERA_API Array gammaincc(Operand a, Operand x);
/// The same as gammainc, under its name in jax.lax.
TESSERA_API Array igamma(Operand a, Operand x);
/// The same as gammaincc, under its name in jax.lax.
TESSERA_API Array igammac(Operand a, Operand x);
/// The regularised incomplete beta function for a, b > 0 and 0 <= x <= 1; its limit if one of a and
/// b is 0 or infinite, and NaN elsewhere. Differentiable in all arguments, but only once in a and
/// b.
TESSERA_API Array betainc(Operand a, Operand b, Operand x);
/// The exponential integral Ei; -infinity at zero.
TESSERA_API Array expi(Operand x);
/// The exponential integral E1 = -Ei(-x); infinite at zero, NaN below.
TESSERA_API Array exp1(Operand x);
/// The integral of exp(-x t) / t ** n over t from 1 to infinity, for n from 0 to 1000 and x >= 0;
/// NaN for negative x. Throws Error for any other n.
TESSERA_API Array expn(std::int64_t n, Operand x);
/// The dilogarithm of 1 - x, the integral of log(t) / (1 - t) from 1 to x, for x >= 0; NaN below.
TESSERA_API Array spence(Operand x);
/// erfcx is exp(x ** 2) erfc(x). dawsn is Dawson's function, exp(-x ** 2) times the integral of
/// exp(t ** 2) from 0 to x.
TESSERA_API Array erfcx(Operand x);
TESSERA_API Array dawsn(Operand x);
/// The Bernoulli numbers B_0, ..., B_n with B_1 = -1/2, of shape (n + 1,). They are infinite from
/// B_66 on, in float64 from B_260 on. Throws Error if n is below 0 or above 10000, and DTypeError
/// if the dtype is not floating.
TESSERA_API Array bernoulli(std::int64_t n, DType dtype = DType::float32,
                            std::source_location loc = std::source_location::current());
/// The sine integral of sin(t) / t from 0 to x, and the cosine integral, which is Euler's constant
/// + log(x) + the integral of (cos(t) - 1) / t. The latter is -infinity at zero, that of |x| for
/// negative x, and NaN at -infinity. Computed by the power series and by the continued fraction of
/// E1(ix) (DLMF 6.6.5, 6.6.6, 6.9.1).
TESSERA_API std::pair<Array, Array> sici(Operand x);
/// The integrals of sin(pi t ** 2 / 2) and cos(pi t ** 2 / 2) from 0 to x, in this order, as in
/// SciPy; both are 1/2 at infinity. Computed by power series and by wofz (DLMF 7.6.4, 7.6.6,
/// 7.5.9).
TESSERA_API std::pair<Array, Array> fresnel(Operand x);
/// The Faddeeva function w(z) = exp(-z ** 2) erfc(-iz), complex for every z. Computed by the
/// modified trapezoidal rules of M. Al Azah and S. N. Chandler-Wilde (SIAM J. Numer. Anal. 59
/// (2021)). Its derivative is 2i / sqrt(pi) - 2z w(z).
TESSERA_API Array wofz(Operand z);
/// Owen's T function, 1 / (2 pi) times the integral of exp(-h ** 2 (1 + t ** 2) / 2) / (1 + t ** 2)
/// from t = 0 to a. It is even in h and odd in a; a may be infinite.
TESSERA_API Array owens_t(Operand h, Operand a);

/// Kummer's function 1F1(a; b; x), the sum of (a)_k x ** k / ((b)_k k!). It is 1 if a = 0, and
/// exp(x) if a = b. Otherwise it is infinite if b is 0 or a negative integer, except for the
/// polynomial of a negative integer a > b. If the terms cancel, accuracy is lost in proportion;
/// float64 results lose it once the terms exceed the sum by 2 ** 50. Differentiable in all three
/// arguments, but the derivative in a is NaN if a is zero or a negative integer.
TESSERA_API Array hyp1f1(Operand a, Operand b, Operand x);
/// Gauss's function 2F1(a, b; c; x), the sum of (a)_k (b)_k x ** k / ((c)_k k!), continued to all x
/// <= 1. It is infinite for x > 1, at x = 1 if c <= a + b, and if c is zero or a negative integer,
/// except for the polynomials of negative integers a or b. Differentiable in all four arguments,
/// but the derivatives in a and b are NaN for polynomials. If c is less than a or b, the terms
/// cancel for x < 0 and digits are lost (docs/accuracy.md).
TESSERA_API Array hyp2f1(Operand a, Operand b, Operand c, Operand x);

/// The Bessel functions of the first kind of orders 0, 1, ..., v for any real z, of shape (v + 1,
/// *z.shape). Orders up to |z| use the forward recurrence, higher ones the continued fraction of
/// their quotients (DLMF 10.6.1, 10.10.1), so there is no iteration count to choose. Throws Error
/// if v is below 0 or above 10000.
TESSERA_API Array bessel_jn(Operand z, std::int64_t v);
/// The spherical harmonics of degree n and order m at colatitude theta and longitude phi, complex,
/// orthonormal, with the Condon-Shortley phase: Y(n, m) = sqrt((2n + 1) / (4 pi) (n - m)! / (n +
/// m)!) P(n, m, cos theta) exp(i m phi). Arguments broadcast; n and m are integers, and n above
/// n_max counts as n_max. The default n_max is the largest n, which then must not be traced. The
/// result is 0 for |m| > n and NaN for n < 0. Differentiable in theta and phi. Throws DTypeError if
/// n or m are not integers, and Error if n_max is above 10000 or unknown.
TESSERA_API Array sph_harm_y(Operand n, Operand m, Operand theta, Operand phi,
                             std::int64_t n_max = -1);

/// The modified Bessel functions of the first kind of orders 0 and 1; i0e and i1e are scaled by
/// exp(-|x|).
TESSERA_API Array i0(Operand x);
TESSERA_API Array i0e(Operand x);
/// The modified Bessel function of the first kind of order 1.
TESSERA_API Array i1(Operand x);
/// i1(x) exp(-|x|)
TESSERA_API Array i1e(Operand x);

/// The cumulative distribution function of the standard normal distribution.
TESSERA_API Array ndtr(Operand x);
/// The logarithm of ndtr, accurate in both tails.
TESSERA_API Array log_ndtr(Operand x);
/// The inverse of ndtr: the quantile of p in [0, 1], and NaN outside.
TESSERA_API Array ndtri(Operand p);
/// log(x / (1 - x)).
TESSERA_API Array logit(Operand x);

/// (x ** power - 1) / power, or log(x) if the power is 0.
TESSERA_API Array boxcox(Operand x, Operand power);
/// ((1 + x) ** power - 1) / power, or log(1 + x) if the power is 0.
TESSERA_API Array boxcox1p(Operand x, Operand power);

/// x log(y), and 0 if x is 0.
TESSERA_API Array xlogy(Operand x, Operand y);
/// x log(1 + y), and 0 if x is 0.
TESSERA_API Array xlog1py(Operand x, Operand y);
/// -x log(x); 0 at zero, -infinity below.
TESSERA_API Array entr(Operand x);
/// rel_entr is x log(x / y); 0 if x is 0 and y >= 0, and infinite where x or y are otherwise not
/// positive. kl_div is rel_entr(x, y) - x + y.
TESSERA_API Array rel_entr(Operand x, Operand y);
TESSERA_API Array kl_div(Operand x, Operand y);

}  // namespace tessera::inline v0
