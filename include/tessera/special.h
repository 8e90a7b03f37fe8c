// Special functions, as jax.scipy.special names them. In floats, as the functions of elementwise.h.
#pragma once

#include <tessera/array.h>

#include <utility>

namespace tessera::inline v0 {

/// The logarithm of the magnitude of the gamma function.
TESSERA_API Array gammaln(Operand x);
/// log(gamma(x)), real for x > 0 and NaN below, infinite at 0; of complex x its principal branch,
/// which is cut below zero, where the sign of the imaginary part's zero counts, and NaN at its
/// poles. Its derivative is digamma, of complex numbers too.
TESSERA_API Array loggamma(Operand x);
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
/// The logarithm of the multivariate gamma function of dimension d. Throws Error for d below 1 and
/// above 10000.
TESSERA_API Array multigammaln(Operand a, std::int64_t d);
/// The Hurwitz zeta function, the sum of (q + k) ** -s over k from 0, for s > 1 and q > 0: infinite
/// at s = 1 and q = 0, NaN below.
TESSERA_API Array zeta(Operand s, Operand q);

/// The regularised incomplete gamma functions, lower and upper, of a >= 0 and x >= 0, NaN
/// elsewhere. Differentiable in both, once in a.
TESSERA_API Array gammainc(Operand a, Operand x);
TESSERA_API Array gammaincc(Operand a, Operand x);
/// The same, by the names of jax.lax.
TESSERA_API Array igamma(Operand a, Operand x);
TESSERA_API Array igammac(Operand a, Operand x);
/// The regularised incomplete beta function of a, b > 0 and x from 0 to 1; its limit where one of a
/// and b is 0 or infinite, NaN elsewhere. Differentiable in all three, once in a and b.
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
/// exp(x ** 2) erfc(x), and Dawson's function, exp(-x ** 2) times the integral of exp(t ** 2) from
/// 0 to x.
TESSERA_API Array erfcx(Operand x);
TESSERA_API Array dawsn(Operand x);
/// The Bernoulli numbers B_0, ..., B_n, of shape (n + 1,), with B_1 = -1/2; infinite from B_66 on,
/// of float64 from B_260 on. Throws Error for n below 0 and above 10000, DTypeError for dtypes that
/// are not floats.
TESSERA_API Array bernoulli(std::int64_t n, DType dtype = DType::float32,
                            std::source_location loc = std::source_location::current());
/// The sine integral, of sin(t) / t from 0 to x, and the cosine integral, Euler's constant + log(x)
/// + that of (cos(t) - 1) / t: -infinity at zero, below it that of |x|, NaN at -infinity. By the
/// power series and by the continued fraction of E1(ix) (DLMF 6.6.5, 6.6.6, 6.9.1).
TESSERA_API std::pair<Array, Array> sici(Operand x);
/// The integrals of sin(pi t ** 2 / 2) and of cos(pi t ** 2 / 2) from 0 to x, in this order, as
/// SciPy has it; 1/2 at infinity. By power series and by wofz (DLMF 7.6.4, 7.6.6, 7.5.9).
TESSERA_API std::pair<Array, Array> fresnel(Operand x);
/// The Faddeeva function exp(-z ** 2) erfc(-iz), complex for every z: by the modified trapezoidal
/// rules of M. Al Azah and S. N. Chandler-Wilde (SIAM J. Numer. Anal. 59 (2021)). Its derivative is
/// 2i / sqrt(pi) - 2z w(z).
TESSERA_API Array wofz(Operand z);
/// Owen's T function, the integral of exp(-h ** 2 (1 + t ** 2) / 2) / (1 + t ** 2) from t = 0 to a
/// over 2 pi: even in h, odd in a; a may be infinite.
TESSERA_API Array owens_t(Operand h, Operand a);

/// Kummer's function 1F1(a; b; x), the sum of (a)_k x ** k / ((b)_k k!): 1 where a is 0, exp(x)
/// where a = b, else infinite where b is 0 or a negative integer, but for the polynomial of a
/// negative integer a > b. Where its terms cancel it loses what they are above it, of float64 from
/// 2 ** 50 on. Differentiable in all three; in a NaN at zero and the negative integers.
TESSERA_API Array hyp1f1(Operand a, Operand b, Operand x);
/// Gauss's function 2F1(a, b; c; x), the sum of (a)_k (b)_k x ** k / ((c)_k k!), continued to all x
/// <= 1; beyond infinite, but for the polynomials of negative integers a or b, as at 1 where c <= a
/// + b and for c zero or a negative integer. Differentiable in all four; in a and b NaN where it is
/// a polynomial. Where c lies below a or b its terms cancel for x < 0, and digits are lost
/// (docs/accuracy.md).
TESSERA_API Array hyp2f1(Operand a, Operand b, Operand c, Operand x);

/// The Bessel functions of the first kind of orders 0, 1, ..., v, of shape (v + 1, *z.shape), for
/// any real z: up to the order |z| by the recurrence forwards, from there on by the continued
/// fraction of their quotients (DLMF 10.6.1, 10.10.1), so that no number of iterations is asked
/// for. Throws Error for v below 0 and above 10000.
TESSERA_API Array bessel_jn(Operand z, std::int64_t v);
/// The spherical harmonics of degree n and order m at the colatitude theta and the longitude phi,
/// complex, orthonormal, with the phase of Condon and Shortley: Y(n, m) = sqrt((2n + 1) / (4 pi) (n
/// - m)! / (n + m)!) P(n, m, cos theta) exp(i m phi). Broadcasts; n and m are integers, n above
/// n_max counts as n_max. Without n_max it is the greatest n, which then must be no traced array. 0
/// for |m| > n, NaN for n < 0. Differentiable in theta and phi. DTypeError for n and m that are no
/// integers, Error for n_max above 10000 and where it cannot be known.
TESSERA_API Array sph_harm_y(Operand n, Operand m, Operand theta, Operand phi,
                             std::int64_t n_max = -1);

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
/// x log(x / y), 0 where x is 0 and y is not below it, infinite where they are not probabilities;
/// and the same - x + y.
TESSERA_API Array rel_entr(Operand x, Operand y);
TESSERA_API Array kl_div(Operand x, Operand y);

}  // namespace tessera::inline v0
