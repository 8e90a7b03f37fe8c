// The gamma and beta functions, and the multivariate gamma function.
#include "api/special/double_double.h"

#include <tessera/arithmetic.h>
#include <tessera/custom.h>
#include <tessera/grad.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::DoubleDouble;
using detail::exp_of;
using detail::in_float64;
using detail::log_beta_of;
using detail::log_gamma_of;
using detail::log_of;
using detail::minus;
using detail::pair_like;
using detail::pair_of;
using detail::plus;
using detail::rounded;
using detail::sum_of;
using detail::times;

namespace {
using In = std::span<const Array>;

// The exponential of the logarithm; below zero by reflection (DLMF 5.5.3): pi over the sine of pi x
// times gamma(1 - x), which is scaled so that subnormal results are not rounded twice.
Array gamma_value(const Array& v) {
  const Array tiny = abs(v) < 0x1p-60, below = less(v, 0), pole = below & (v == floor(v));
  const Array usual = (!(tiny | pole)) & greater(v, -200) & less(v, 200);
  const Array x = where(usual, v, 1.5), reflected = where(usual, below, false);
  const DoubleDouble mirror = sum_of(ones_like(x), -x);
  const DoubleDouble size = log_gamma_of(chosen(reflected, mirror, pair_of(x)));
  const DoubleDouble scale = pair_like(x, 44.3614195558365, 1.4841899608616317e-15);
  const DoubleDouble power = exp_of(chosen(reflected, plus(minus(size), scale), size));
  const Array nearest = round(x), rest = where(reflected, x - nearest, 0.5);
  const DoubleDouble angle = times(pair_like(x, 3.141592653589793, 1.2246467991473532e-16), rest);
  const Array odd = remainder(nearest, 2) != 0;
  const Array sine = sin(angle.high) + cos(angle.high) * angle.low;
  const DoubleDouble turned = times(power, pair_like(x, 3.141592653589793, 1.2246467991473532e-16));
  const Array quotient = rounded(turned) / where(odd, -sine, sine);
  const Array r = where(reflected, quotient * 0x1p-64, rounded(power));
  const Array far = where(greater(v, 0), v0::inf, where(isfinite(v), 0.0, v0::nan));
  return where(usual, r, where(pole | isnan(v), v0::nan, where(tiny, 1 / v, far)));
}
// The same in doubles: the logarithm is below 180, so the relative error is about 2^-45.
Array narrow_gamma_value(const Array& v) {
  const Array tiny = abs(v) < 0x1p-60, below = less(v, 0), pole = below & (v == floor(v));
  const Array usual = (!(tiny | pole)) & isfinite(v), x = where(usual, v, 1.5);
  const Array reflected = where(usual, below, false),
              size = exp(gammaln(where(reflected, 1 - x, x)));
  const Array nearest = round(x), rest = where(reflected, x - nearest, 0.5);
  const Array sine = sin(std::numbers::pi * rest), odd = remainder(nearest, 2) != 0;
  const Array r = where(reflected, std::numbers::pi / (where(odd, -sine, sine) * size), size);
  const Array far = where(v == v0::inf, v0::inf, v0::nan);
  return where(usual, r, where(tiny, 1 / v, far));
}
Array differentiable_gamma(const Array& x, bool narrow) {
  return custom_jvp(narrow ? narrow_gamma_value : gamma_value, [narrow](Array x, Array dx) {
    const Array r = differentiable_gamma(x, narrow);
    return std::pair(r, r * digamma(x) * dx);
  })(x);
}

// log(gamma(x + d) / gamma(x)) for x > kFar and |d| <= x / 2, from differences in Stirling's series
// (DLMF 5.11.1), because the logarithms themselves would cancel.
constexpr double kFar = 0x1p20;
Array log_gamma_ratio(const Array& x, const Array& d) {
  const Array rest = 1 / (12 * (x + d)) - 1 / (12 * x);
  return (x + d - 0.5) * log1p(d / x) + d * (log(x) - 1) + rest;
}

struct LogBeta {
  Array known, value;
};
// log |beta(a, b)| where the logarithms of the gamma function would cancel or be infinite: one
// operand is large and the other is smaller, of either sign, or both are positive and out of range
// for double-double.
LogBeta log_beta_beyond(const Array& a, const Array& b) {
  const Array first = abs(a) > abs(b), most = where(first, a, b), least = where(first, b, a);
  const Array known = (most > kFar) & (least > -0.5 * most) & isfinite(most);
  const Array x = where(known, most, 2 * kFar), d = where(known, least, 1.0), both = d > kFar;
  // Both operands by Stirling's series.
  const Array e = where(both, d, 2 * kFar), roots = 0.5 * (log1p(e / x) - log(e));
  const Array of_both = roots + 0.5 * std::log(2 * std::numbers::pi) - x * log1p(e / x) -
                        e * (log1p(e / x) + log(x / e));
  const Array small = where(both, 1.0, d);
  const Array of_one = gammaln(small) - log_gamma_ratio(x, small);
  // 1 / a + 1 / b, where one operand is tiny.
  const Array tiny = (a > 0) & (b > 0) & (least < 0x1p-900);
  const Array t = where(tiny, least, 1.0), u = where(tiny, most, 1.0);
  const Array endless = (most == v0::inf) & (least > 0) & (!tiny);
  const Array value = where(tiny, log1p(t / u) - log(t), where(both, of_both, of_one));
  return {known | tiny | endless, where(endless, -v0::inf, value)};
}
Array log_beta_of_others(const Array& a, const Array& b) {
  const LogBeta beyond = log_beta_beyond(a, b);
  return where(beyond.known, beyond.value, gammaln(a) + gammaln(b) - gammaln(a + b));
}

template <class Number>
Array log_beta_value(const Array& a, const Array& b) {
  const Array usual = (a > 0x1p-900) & (b > 0x1p-900) & (a < 0x1p900) & (b < 0x1p900);
  const Array r = rounded(log_beta_of<Number>(where(usual, a, 1.0), where(usual, b, 1.0)));
  return where(usual, r, log_beta_of_others(a, b));
}

template <class Number>
Array differentiable_log_beta(const Array& a, const Array& b) {
  return custom_jvp(log_beta_value<Number>, [](Array a, Array b, Array da, Array db) {
    const Array whole = digamma(a + b);
    return std::pair(differentiable_log_beta<Number>(a, b),
                     (digamma(a) - whole) * da + (digamma(b) - whole) * db);
  })(a, b);
}

Array sign_of_gamma(const Array& x) {
  const Array floored = floor(x), below = less(x, 0);
  const Array odd = remainder(floored, 2) != 0;
  const Array inside = where(below & odd, -1.0, where(x == 0, copysign(1.0, x), 1.0));
  return where((below & (x == floored)) | isnan(x), v0::nan, inside);
}

// For positive numbers, the exponential of the logarithm. For others, the sign times the
// exponential, which is as accurate as the size of gammaln permits.
template <class Number>
Array beta_value(const Array& a, const Array& b) {
  const Array usual = (a > 0x1p-900) & (b > 0x1p-900) & (a < 0x1p900) & (b < 0x1p900);
  const Array p = where(usual, a, 1.0), q = where(usual, b, 1.0);
  Array r;
  if constexpr (std::is_same_v<Number, DoubleDouble>)
    r = rounded(exp_of(log_beta_of<DoubleDouble>(p, q)));
  else
    r = exp(log_beta_of<Array>(p, q));
  const Array sign = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b);
  return where(usual, r, sign * exp(log_beta_of_others(a, b)));
}
template <class Number>
Array differentiable_beta(const Array& a, const Array& b) {
  return custom_jvp(beta_value<Number>, [](Array a, Array b, Array da, Array db) {
    const Array r = differentiable_beta<Number>(a, b), whole = digamma(a + b);
    return std::pair(r, r * ((digamma(a) - whole) * da + (digamma(b) - whole) * db));
  })(a, b);
}

// gamma(x) / gamma(x - m), for x above kFar and for other x.
Array quotient_below(const Array& x, const Array& m) {
  const Array far = (x > kFar) & (abs(m) < 0.5 * x) & isfinite(x);
  const Array size = log_gamma_ratio(where(far, x, 2 * kFar), -where(far, m, 1.0));
  return exp(where(far, -size, gammaln(x) - gammaln(x - m)));
}
// gamma(z + m) / gamma(z). If both arguments are positive, from the difference of the logarithms.
Array poch_value(const Array& z, const Array& m) {
  const Array whole = z + m;
  const Array far = (z > kFar) & (abs(m) < 0.5 * z) & isfinite(z);
  const Array above_zero = (z > 0) & (whole > 0) & isfinite(z) & isfinite(m),
              usual = above_zero & !far;
  const Array s = where(usual, z, 1.0), t = where(usual, m, 1.0);
  const DoubleDouble difference = plus(log_gamma_of(sum_of(s, t)), minus(log_gamma_of(pair_of(s))));
  // A pole of the numerator alone gives infinity, a pole of the denominator alone gives zero.
  const Array below = (z <= 0) & (z == floor(z)), above = (whole <= 0) & (whole == floor(whole));
  // If both have poles, by reflection: (-1)^m gamma(1 - z) / gamma(1 - z - m).
  const Array odd = remainder(m, 2) != 0, mirrored = 1 - z;
  const Array turned = quotient_below(mirrored, m);
  const Array sign = sign_of_gamma(whole) * sign_of_gamma(z);
  // Far below zero by reflection, with the sines of pi z and of pi (z + m).
  const Array low = (z < -kFar) & (abs(m) < -0.5 * z) & isfinite(z);
  const Array at = where(low & (!below) & (!above), z, -kFar - 0.5),
              end = where(low & (!below) & (!above), whole, -kFar - 0.5);
  const Array sines =
      abs(sin(std::numbers::pi * (at - round(at))) / sin(std::numbers::pi * (end - round(end))));
  const Array other = sign * where(low, sines * turned, exp(gammaln(whole) - gammaln(z)));
  const Array integral = m == floor(m), mirror = where(odd, -turned, turned);
  const Array poles = where(above & integral, mirror, 0.0);
  // If m and z + m are integers but z is not, rounding of the sum has lost z.
  const Array lost = integral & (z != floor(z));
  const Array rest = where(below, poles, where(above, where(lost, mirror, v0::inf), other));
  const Array r = where(usual, rounded(exp_of(difference)), rest);
  const Array ratio = log_gamma_ratio(where(far, z, 2 * kFar), where(far, m, 1.0));
  return where(m == 0, 1.0, where(far, exp(ratio), r));
}
Array differentiable_poch(const Array& z, const Array& m) {
  return custom_jvp(poch_value, [](Array z, Array m, Array dz, Array dm) {
    const Array r = differentiable_poch(z, m), above = digamma(z + m);
    return std::pair(r, r * ((above - digamma(z)) * dz + above * dm));
  })(z, m);
}

// 1 / ((n + 1) beta(n - k + 1, k + 1)). The rounding errors of the operands are corrected with the
// derivatives of the logarithm.
Array comb_value(const Array& n, const Array& k) {
  const Array chosen = (n >= 0) & (k >= 0) & (k <= n), valid = chosen & (n < 0x1p900);
  const Array whole = where(valid, n, 1.0), part = where(valid, k, 0.0);
  // For larger n, everything cancels except the smaller of k and n - k.
  const Array many = chosen & (!valid) & isfinite(n), least = where(many, minimum(k, n - k), 1.0);
  const Array far = exp(least * log(where(many, n, 1.0)) - gammaln(least + 1));
  const Array one = ones_like(n);
  const DoubleDouble rest = plus(sum_of(whole, -part), one), next = sum_of(part, one);
  const Array common = digamma(whole + 2);
  const Array lost =
      (digamma(rest.high) - common) * rest.low + (digamma(next.high) - common) * next.low;
  const DoubleDouble ways =
      plus(log_of(sum_of(whole, one)), log_beta_of<DoubleDouble>(rest.high, next.high));
  const Array r = rounded(exp_of(minus(plus(ways, lost))));
  const Array integers = (floor(whole) == whole) & (floor(part) == part) & (r < 0x1p46);
  return where(
      isnan(n) | isnan(k), v0::nan,
      where(valid, where(integers, round(r), r),
            where(many, far, where(chosen & (n == v0::inf), where(k == 0, 1.0, v0::inf), 0.0))));
}
Array differentiable_comb(const Array& n, const Array& k) {
  return custom_jvp(comb_value, [](Array n, Array k, Array dn, Array dk) {
    const Array r = differentiable_comb(n, k), valid = r != 0;
    const Array whole = where(valid, n, 1.0), part = where(valid, k, 0.0);
    const Array rest = digamma(whole - part + 1);
    return std::pair(r, r * ((digamma(whole + 1) - rest) * dn + (rest - digamma(part + 1)) * dk));
  })(n, k);
}
}  // namespace

Array gamma(Operand x) {
  return in_float64("gamma", {x},
                    [](In in, bool narrow) { return differentiable_gamma(in[0], narrow); });
}
Array gammasgn(Operand x) {
  return in_float64("gammasgn", {x}, [](In in) { return sign_of_gamma(in[0]); });
}
Array factorial(Operand n) {
  return in_float64("factorial", {n}, [](In in, bool narrow) {
    const Array below = less(in[0], 0), x = where(below, 0.0, in[0]);
    const Array r = differentiable_gamma(x + 1, narrow);
    if (narrow) return where(below, 0.0, r);
    // Correct the rounding error of n + 1 with the derivative.
    const Array finite = isfinite(r) & isfinite(x), inside = where(finite, x, 1.0);
    const DoubleDouble next = sum_of(inside, ones_like(inside));
    const Array lost = where(finite, r * (digamma(next.high) * next.low), 0.0);
    return where(below, 0.0, r + stop_gradient(lost));
  });
}
Array poch(Operand z, Operand m) {
  return in_float64("poch", {z, m}, [](In in) { return differentiable_poch(in[0], in[1]); });
}
Array comb(Operand n, Operand k) {
  return in_float64("comb", {n, k}, [](In in) { return differentiable_comb(in[0], in[1]); });
}
Array beta(Operand a, Operand b) {
  return in_float64("beta", {a, b}, [](In in, bool narrow) {
    return (narrow ? differentiable_beta<Array> : differentiable_beta<DoubleDouble>)(in[0], in[1]);
  });
}
Array betaln(Operand a, Operand b) {
  return in_float64("betaln", {a, b}, [](In in, bool narrow) {
    return (narrow ? differentiable_log_beta<Array> : differentiable_log_beta<DoubleDouble>)(in[0],
                                                                                             in[1]);
  });
}
Array multigammaln(Operand a, std::int64_t d) {
  if (d < 1)
    Message("multigammaln")
        .problem("the dimension is " + std::to_string(d))
        .rule("it is 1 or more")
        .from(a.loc)
        .advice("of dimension 1 it is gammaln")
        .raise<Error>();
  constexpr std::int64_t kMost = 10000;
  if (d > kMost)
    Message("multigammaln")
        .problem("the dimension is " + std::to_string(d))
        .rule("it is at most " + std::to_string(kMost) +
              ": the result is a sum of so many logarithms")
        .from(a.loc)
        .advice("that of matrices, say 3")
        .raise<Error>();
  return in_float64("multigammaln", {a}, [&](In in) {
    const Array half = 0.5 * arange(d, DType::float64);
    const double constant = 0.25 * static_cast<double>(d * (d - 1)) * std::log(std::numbers::pi);
    return constant + sum(gammaln(expand_dims(in[0], -1) - half), -1);
  });
}

}  // namespace tessera::inline v0
