// The standard normal distribution, and functions of probabilities.
#include "api/special/double_double.h"

#include <tessera/custom.h>
#include <tessera/grad.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::in_float64;

namespace {
using In = std::span<const Array>;
const double kRootHalf = std::sqrt(0.5), kLogRootTwoPi = 0.5 * std::log(2 * std::numbers::pi);

Array narrow_lower_part(const Array& x) { return 0.5 * erfc(-x * kRootHalf); }
// The distribution function. erfc amplifies the rounding error of its argument by the argument's
// square, so the error is corrected with the derivative.
Array lower_part(const Array& x) {
  const Array usual = abs(x) < 40, v = where(usual, x, 1.0);
  const detail::DoubleDouble z =
      detail::times(detail::pair_like(v, -0.7071067811865476, 4.833646656726457e-17), v);
  const Array slope = 2 * std::numbers::inv_sqrtpi * exp(-(z.high * z.high));
  return 0.5 * where(usual, erfc(z.high) - slope * z.low, erfc(-x * kRootHalf));
}

// Below -10, the asymptotic series of erfc (DLMF 7.12.1), whose eighth term is below 2^-32.
Array log_lower_tail(const Array& x, bool narrow) {
  std::vector<double> c{1};
  for (int k = 1; k <= (narrow ? 8 : 18); ++k) c.push_back(-c.back() * (2 * k - 1));
  const Array square = x * x;
  return -0.5 * square - log(-x) - kLogRootTwoPi + log(detail::series(1 / square, c));
}
Array log_ndtr_of(const Array& x, bool narrow) {
  const Array far = less(x, -10), above = greater(x, 0);
  const Array middle = where(far, -1.0, x);
  const Array tail = (narrow ? narrow_lower_part : lower_part)(-abs(middle));
  // Above zero, log1p of the other tail; below zero, the logarithm of the tail itself.
  const Array below = where(above, 0.5, tail);
  const Array near = where(above, log1p(-where(above, tail, 0.5)), log(below));
  return where(far, log_lower_tail(where(far, x, -20.0), narrow), near);
}

// The x < 0 with log_ndtr(x) = log(p), for p <= 1/4: a rational initial value (Abramowitz and
// Stegun 26.2.23), and Newton's method on the logarithms.
Array lower_quantile(const Array& p) {
  const Array log_p = log(p), t = sqrt(-2 * log_p);
  const double above[] = {2.515517, 0.802853, 0.010328},
               below[] = {1, 1.432788, 0.189269, 0.001308};
  Array x = detail::series(t, above) / detail::series(t, below) - t;
  for (int k = 0; k < 3; ++k) {
    const Array at = log_ndtr_of(x, false);
    x = x - (at - log_p) * exp(at + 0.5 * x * x + kLogRootTwoPi);
  }
  return x;
}
// sqrt(2) erf_inv(m), corrected with erf by one step of Newton's method.
Array middle_quantile(const Array& m) {
  const Array y = erf_inv(m), at = stop_gradient(y);
  const Array off = (stop_gradient(m) - erf(at)) * exp(at * at) / std::numbers::inv_sqrtpi / 2;
  const double root = std::numbers::sqrt2;
  const detail::DoubleDouble p = detail::product_of(at, full_like(at, root));
  return y * root + ((p.low + at * -9.667293313452913e-17) + off * root);
}
// M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied
// Statistics 37 (1988), PPND16: a rational function of 0.425^2 - q^2 near one half, and of the
// square root of the tail's logarithm elsewhere.
Array narrow_quantile(const Array& p) {
  const double middle[] = {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                           13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                           33430.575583588128105, 2509.0809287301226727},
               below_middle[] = {1,
                                 42.313330701600911252,
                                 687.18700749205790830,
                                 5394.1960214247511077,
                                 21213.794301586595867,
                                 39307.895800092710610,
                                 28729.085735721942674,
                                 5226.4952788528545610};
  const double tail[] = {1.42343711074968357734,  4.63033784615654529590,   5.76949722146069140550,
                         3.64784832476320460504,  1.27045825245236838258,   .241780725177450611770,
                         .0227238449892691845833, 7.74545014278341407640e-4},
               below_tail[] = {1,
                               2.05319162663775882187,
                               1.67638483018380384940,
                               .689767334985100004550,
                               .148103976427480074590,
                               .0151986665636164571966,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
  const double far[] = {6.65790464350110377720,    5.46378491116411436990,
                        1.78482653991729133580,    .296560571828504891230,
                        .0265321895265761230930,   .00124266094738807843860,
                        2.71155556874348757815e-5, 2.01033439929228813265e-7},
               below_far[] = {1,
                              .599832206555887937690,
                              .136929880922735805310,
                              .0148753612908506148525,
                              7.86869131145613259100e-4,
                              1.84631831751005468180e-5,
                              1.42151175831644588870e-7,
                              2.04426310338993978564e-15};
  using detail::series;
  const Array q = p - 0.5, near = abs(q) <= 0.425, inside = where(near, q, 0.0);
  const Array u = 0.180625 - inside * inside;
  const Array r = sqrt(-log(where(near, 0.05, where(q < 0, p, 1 - p))));
  const Array s = minimum(r, 5) - 1.6, t = maximum(r, 5) - 5;
  const Array beyond =
      where(r <= 5, series(s, tail) / series(s, below_tail), series(t, far) / series(t, below_far));
  return where(near, inside * series(u, middle) / series(u, below_middle),
               where(q < 0, -beyond, beyond));
}
Array narrow_ndtri(const Array& p) {
  const auto value = [](Array p) {
    const Array inside = (p > 0) & (p < 1);
    const Array end = where(p == 0, -v0::inf, where(p == 1, v0::inf, v0::nan));
    return where(inside, narrow_quantile(where(inside, p, 0.5)), end);
  };
  return custom_jvp(value, [](Array p, Array dp) {
    const Array x = narrow_ndtri(p);
    return std::pair(x, dp * exp(0.5 * x * x + kLogRootTwoPi));
  })(p);
}
}  // namespace

Array ndtr(Operand x) {
  return in_float64("ndtr", {x}, [](In in, bool narrow) {
    return (narrow ? narrow_lower_part : lower_part)(in[0]);
  });
}
Array log_ndtr(Operand x) {
  return in_float64("log_ndtr", {x}, [](In in, bool narrow) { return log_ndtr_of(in[0], narrow); });
}
Array ndtri(Operand p) {
  return in_float64("ndtri", {p}, [](In in, bool narrow) {
    if (narrow) return narrow_ndtri(in[0]);
    const Array upper = in[0] > 0.5, part = where(upper, 1 - in[0], in[0]);
    const Array tail = less(part, 0.25), inside = greater(part, 0);
    const Array far = lower_quantile(where(tail & inside, part, 0.1));
    const Array middle = where(tail, 0.5, in[0]);
    const Array near = middle_quantile(2 * middle - 1);
    const Array r = where(tail, where(upper, -far, far), near);
    const Array end = where(part == 0, where(upper, v0::inf, -v0::inf), v0::nan);
    return where(inside, r, end);
  });
}
Array logit(Operand x) {
  return in_float64("logit", {x}, [](In in) {
    const Array& v = in[0];
    // Near one half, where the logarithms cancel, use the inverse hyperbolic tangent.
    const Array near = abs(v - 0.5) < 0.25;
    const Array outside = where(near, 0.1, v);
    return where(near, 2 * arctanh(2 * where(near, v, 0.5) - 1), log(outside) - log1p(-outside));
  });
}

namespace {
// x f(y) for a logarithm f; 0 if x is 0, whatever y is. The derivative there is that of the product
// if it is finite.
Array times_log(const Array& x, const Array& y, Array (*f)(Operand)) {
  const Array l = f(y), defined = (x != 0) | isfinite(l);
  return where(defined, x * f(where(defined, y, ones_like(y))), 0.0);
}
// log(x / y) for positive numbers. If they are close, it is computed from (x - y) / y, which is
// exact except for the division. The remainder of the division is corrected for in both cases.
Array log_of_ratio(const Array& x, const Array& y, bool narrow) {
  const Array near = (x < 2 * y) & (y < 2 * x), a = where(near, x, 1.5), b = where(near, y, 1.0);
  const Array u = (a - b) / b;
  // If the quotient is out of range, the logarithms are so far apart that they do not cancel.
  const Array quotient = where(near, 1.0, x / y);
  const Array inside = (quotient > 0x1p-1000) & (quotient < 0x1p1000);
  const Array apart = log(where(near, 1.0, x)) - log(where(near, 1.0, y));
  if (narrow) return where(near, log1p(u), where(inside, log(where(inside, quotient, 1.0)), apart));
  const detail::DoubleDouble back = detail::product_of(stop_gradient(u), b);
  const Array rest = stop_gradient((((a - b) - back.high) - back.low) / b);
  const Array c = where(near, 1.0, x), d = where(near, 1.0, y), ratio = c / d;
  const detail::DoubleDouble whole = detail::product_of(stop_gradient(ratio), d);
  const Array left = stop_gradient(((c - whole.high) - whole.low) / c);
  // There is no correction if the ratio or its products are out of range.
  const Array far = log(where(inside, ratio, 1.0)) + where(abs(left) < 0x1p-30, left, 0.0);
  return where(near, log1p(u) + rest / (1 + u), where(inside, far, apart));
}
Array relative(const Array& x, const Array& y, bool narrow) {
  const Array both = (x > 0) & (y > 0), none = (x == 0) & (y >= 0);
  const Array a = where(both, x, 1.0), b = where(both, y, 1.0);
  const Array r = where(none, 0.0, where(both, a * log_of_ratio(a, b, narrow), v0::inf));
  return where(isnan(x) | isnan(y), v0::nan, r);
}
// x log(x / y) - x + y for numbers that are close: with s = (y - x) / (y + x) it is (y + x) s - 2 x
// artanh(s), that is s^2 ((y + x) - 2 x (s / 3 + s^3 / 5 + ...)).
Array near_divergence(const Array& x, const Array& y, bool narrow) {
  std::vector<double> c;
  for (int k = 0; k < (narrow ? 20 : 40); ++k) c.push_back(-2.0 / (2 * k + 3));
  if (narrow) {
    const Array s = (y - x) / (y + x), square = s * s;
    return square * (y + x + x * s * detail::series(square, c));
  }
  const detail::DoubleDouble whole = detail::sum_of(x, y), off = detail::sum_of(y, -x);
  const detail::DoubleDouble s = detail::over(off, whole), square = detail::times(s, s);
  const Array rest = x * s.high * detail::series(square.high, c) + whole.low;
  return detail::rounded(detail::times(square, whole.high + rest));
}
Array divergence(const Array& x, const Array& y, bool narrow) {
  const Array both = (x > 0) & (y > 0) & (x < 0x1p900) & (y < 0x1p900);
  const Array a = where(both, x, 1.0), b = where(both, y, 1.0);
  const Array near = (a < 4 * b) & (b < 4 * a),
              close = near_divergence(a, where(near, b, a), narrow);
  const Array ratio = log_of_ratio(a, b, narrow);
  const auto sum = [&] { return detail::plus(detail::product_of(a, ratio), b); };
  const Array apart = narrow ? a * ratio - a + b : detail::rounded(detail::plus(sum(), -a));
  // Infinite if the operands are not probabilities, even if y is -infinity.
  const Array r = relative(x, y, narrow), outside = where(r == v0::inf, r, r - x + y);
  return where(both, where(near, close, apart), outside);
}
Array divergence_of(const Array& x, const Array& y, bool narrow) {
  const auto value = [narrow](Array x, Array y) { return divergence(x, y, narrow); };
  return custom_jvp(value, [narrow](Array x, Array y, Array dx, Array dy) {
    const Array both = (x > 0) & (y > 0);
    const Array a = where(both, x, 1.0), b = where(both, y, 1.0);
    const Array in_x = where(both, log_of_ratio(a, b, narrow), -1.0),
                in_y = 1 - where(both, a / b, 0.0);
    return std::pair(divergence_of(x, y, narrow), in_x * dx + in_y * dy);
  })(x, y);
}
}  // namespace

Array xlogy(Operand x, Operand y) {
  return in_float64("xlogy", {x, y}, [](In in) { return times_log(in[0], in[1], log); });
}
Array xlog1py(Operand x, Operand y) {
  return in_float64("xlog1py", {x, y}, [](In in) { return times_log(in[0], in[1], log1p); });
}
namespace {
// expm1(power l) / power for a logarithm l, whose rounding error is `rest`. The product with the
// power is exact.
Array power_transform_value(const Array& l, const Array& rest, const Array& power) {
  const Array by_logarithm = power == 0, finite = isfinite(l) & isfinite(power);
  const Array p = where(by_logarithm, 1.0, power);
  const detail::DoubleDouble exact =
      detail::product_of(where(finite, l, 1.0), where(finite, p, 1.0));
  const Array exponent = l * p, off = exact.low + where(finite, rest * p, 0.0);
  // Beyond this, the exponential is 0 or infinite.
  const Array inside = finite & (abs(exponent) < 700);
  const Array lost = exp(where(inside, exponent, 0.0)) * where(inside, off, 0.0);
  // If the product is negligible against 1, the result is the logarithm itself, which the product
  // may have lost.
  const Array straight = by_logarithm | (abs(exponent) < 0x1p-60);
  const Array q = where(straight, 1.0, p);
  return where(straight, where(by_logarithm, l, l + rest), (expm1(exponent) + lost) / q);
}
// The rounding error of the logarithm of a sum.
Array rest_of_log(const Array& l, const detail::DoubleDouble& x) {
  const Array usual = isfinite(l) & (x.high > 0x1p-900) & (x.high < 0x1p900);
  const Array one = ones_like(l);
  const detail::DoubleDouble exact = detail::log_of(detail::chosen(usual, x, detail::pair_of(one)));
  return stop_gradient(where(usual, (exact.high - l) + exact.low, 0.0));
}
// The derivative in the power is l^2 (t exp(t) - expm1(t)) / t^2 with t = power l; near zero, its
// power series, the sum of t^k / (k! (k + 2)).
Array power_transform(const Array& l, const Array& rest, const Array& power) {
  return custom_jvp(power_transform_value,
                    [](Array l, Array rest, Array power, Array dl, Array, Array dpower) {
                      std::vector<double> c{0.5};
                      double factorial = 1;
                      for (int k = 1; k <= 18; ++k) c.push_back(1 / ((factorial *= k) * (k + 2)));
                      const Array t = power * l, e = exp(t), near = abs(t) < 1;
                      const Array u = where(near, t, 0.0), v = where(near, 2.0, t);
                      const Array beyond = (v * exp(v) - expm1(v)) / (v * v);
                      const Array slope = l * l * where(near, detail::series(u, c), beyond);
                      return std::pair(power_transform(l, rest, power), e * dl + slope * dpower);
                    })(l, rest, power);
}
}  // namespace

Array boxcox(Operand x, Operand power) {
  return in_float64("boxcox", {x, power}, [](In in, bool narrow) {
    const Array l = log(in[0]);
    const Array rest = narrow ? zeros_like(l) : rest_of_log(l, detail::pair_of(in[0]));
    return power_transform(l, rest, in[1]);
  });
}
Array boxcox1p(Operand x, Operand power) {
  return in_float64("boxcox1p", {x, power}, [](In in, bool narrow) {
    const Array l = log1p(in[0]), one = ones_like(l);
    const Array rest = narrow ? zeros_like(l) : rest_of_log(l, detail::sum_of(in[0], one));
    return power_transform(l, rest, in[1]);
  });
}
Array entr(Operand x) {
  return in_float64("entr", {x}, [](In in) {
    const Array& v = in[0];
    return where(v < 0, -v0::inf, -times_log(v, where(v < 0, 1.0, v), log));
  });
}
Array rel_entr(Operand x, Operand y) {
  return in_float64("rel_entr", {x, y},
                    [](In in, bool narrow) { return relative(in[0], in[1], narrow); });
}
Array kl_div(Operand x, Operand y) {
  return in_float64("kl_div", {x, y},
                    [](In in, bool narrow) { return divergence_of(in[0], in[1], narrow); });
}

}  // namespace tessera::inline v0
