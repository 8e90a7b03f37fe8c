// The standard normal distribution, and functions of probabilities.
#include "api/numpy/pairs.h"

#include <tessera/custom.h>
#include <tessera/grad.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::in_doubles;

namespace {
using In = std::span<const Array>;
const double kRootHalf = std::sqrt(0.5), kLogRootTwoPi = 0.5 * std::log(2 * std::numbers::pi);

// The distribution function. The argument of erfc is rounded, which erfc multiplies by the square of
// it; what it lacks counts by the derivative.
Array lower_part(const Array& x) {
  const Array usual = abs(x) < 40, v = where(usual, x, 1.0);
  const detail::Pair z =
      detail::times(detail::pair_like(v, -0.7071067811865476, 4.833646656726457e-17), v);
  const Array slope = 2 * std::numbers::inv_sqrtpi * exp(-(z.high * z.high));
  return 0.5 * where(usual, erfc(z.high) - slope * z.low, erfc(-x * kRootHalf));
}

// Below -10 by the asymptotic series of erfc (DLMF 7.12.1).
Array log_lower_tail(const Array& x) {
  std::vector<double> c{1};
  for (int k = 1; k <= 18; ++k) c.push_back(-c.back() * (2 * k - 1));
  const Array square = x * x;
  return -0.5 * square - log(-x) - kLogRootTwoPi + log(detail::series(1 / square, c));
}
Array log_ndtr_of(const Array& x) {
  const Array far = less(x, -10), above = greater(x, 0);
  const Array middle = where(far, -1.0, x);
  const Array tail = lower_part(-abs(middle));
  // Above zero 1 less the other tail; the logarithm of what is below is that of the tail itself.
  const Array below = where(above, 0.5, tail);
  const Array near = where(above, log1p(-where(above, tail, 0.5)), log(below));
  return where(far, log_lower_tail(where(far, x, -20.0)), near);
}

// The x below zero with log_ndtr(x) = log(p), of p up to a quarter: a rational start (Abramowitz
// and Stegun 26.2.23), and Newton's method on logarithms.
Array lower_quantile(const Array& p) {
  const Array log_p = log(p), t = sqrt(-2 * log_p);
  const double above[] = {2.515517, 0.802853, 0.010328},
               below[] = {1, 1.432788, 0.189269, 0.001308};
  Array x = detail::series(t, above) / detail::series(t, below) - t;
  for (int k = 0; k < 3; ++k) {
    const Array at = log_ndtr_of(x);
    x = x - (at - log_p) * exp(at + 0.5 * x * x + kLogRootTwoPi);
  }
  return x;
}
// The root of 2 times erf_inv(m), put right by erf (a step of Newton's method).
Array middle_quantile(const Array& m) {
  const Array y = erf_inv(m), at = stop_gradient(y);
  const Array off = (stop_gradient(m) - erf(at)) * exp(at * at) / std::numbers::inv_sqrtpi / 2;
  const double root = std::numbers::sqrt2;
  const detail::Pair p = detail::product_of(at, full_like(at, root));
  return y * root + ((p.low + at * -9.667293313452913e-17) + off * root);
}
}  // namespace

Array ndtr(Operand x) {
  return in_doubles("ndtr", {x}, [](In in) { return lower_part(in[0]); });
}
Array log_ndtr(Operand x) {
  return in_doubles("log_ndtr", {x}, [](In in) { return log_ndtr_of(in[0]); });
}
Array ndtri(Operand p) {
  return in_doubles("ndtri", {p}, [](In in) {
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
  return in_doubles("logit", {x}, [](In in) {
    const Array& v = in[0];
    // Around a half, where the logarithms cancel, by the area tangent.
    const Array near = abs(v - 0.5) < 0.25;
    const Array outside = where(near, 0.1, v);
    return where(near, 2 * arctanh(2 * where(near, v, 0.5) - 1), log(outside) - log1p(-outside));
  });
}

namespace {
// x times a logarithm, 0 where x is 0, whatever the logarithm; its derivative there is that of the
// product wherever that is finite.
Array times_log(const Array& x, const Array& y, Array (*f)(Operand)) {
  const Array l = f(y), defined = (x != 0) | isfinite(l);
  return where(defined, x * f(where(defined, y, ones_like(y))), 0.0);
}
// log(x / y) of positive numbers: where they are near by (x - y) / y, which is exact but for the
// division, whose remainder counts as it does beyond.
Array log_of_ratio(const Array& x, const Array& y) {
  const Array near = (x < 2 * y) & (y < 2 * x), a = where(near, x, 1.5), b = where(near, y, 1.0);
  const Array u = (a - b) / b;
  const detail::Pair back = detail::product_of(stop_gradient(u), b);
  const Array rest = stop_gradient((((a - b) - back.high) - back.low) / b);
  const Array c = where(near, 1.0, x), d = where(near, 1.0, y), ratio = c / d;
  const detail::Pair whole = detail::product_of(stop_gradient(ratio), d);
  const Array left = stop_gradient(((c - whole.high) - whole.low) / c);
  // What is left is none where the ratio or its products are beyond the range.
  const Array far = log(ratio) + where(abs(left) < 0x1p-30, left, 0.0);
  return where(near, log1p(u) + rest / (1 + u), far);
}
Array relative(const Array& x, const Array& y) {
  const Array both = (x > 0) & (y > 0), none = (x == 0) & (y >= 0);
  const Array a = where(both, x, 1.0), b = where(both, y, 1.0);
  const Array r = where(none, 0.0, where(both, a * log_of_ratio(a, b), v0::inf));
  return where(isnan(x) | isnan(y), v0::nan, r);
}
// x log(x / y) - x + y of numbers that are near: with s = (y - x) / (y + x) it is (y + x) s - 2 x
// artanh(s), that is s^2 ((y + x) - 2 x (s / 3 + s^3 / 5 + ...)).
Array near_divergence(const Array& x, const Array& y) {
  std::vector<double> c;
  for (int k = 0; k < 40; ++k) c.push_back(-2.0 / (2 * k + 3));
  const detail::Pair whole = detail::sum_of(x, y), off = detail::sum_of(y, -x);
  const detail::Pair s = detail::over(off, whole), square = detail::times(s, s);
  const Array rest = x * s.high * detail::series(square.high, c) + whole.low;
  return detail::rounded(detail::times(square, whole.high + rest));
}
Array divergence(const Array& x, const Array& y) {
  const Array both = (x > 0) & (y > 0) & (x < 0x1p900) & (y < 0x1p900);
  const Array a = where(both, x, 1.0), b = where(both, y, 1.0);
  const Array near = (a < 4 * b) & (b < 4 * a), close = near_divergence(a, where(near, b, a));
  const detail::Pair sum = detail::plus(detail::product_of(a, log_of_ratio(a, b)), b);
  const Array apart = detail::rounded(detail::plus(sum, -a));
  return where(both, where(near, close, apart), relative(x, y) - x + y);
}
Array divergence_of(const Array& x, const Array& y) {
  return custom_jvp(divergence, [](Array x, Array y, Array dx, Array dy) {
    const Array both = (x > 0) & (y > 0);
    const Array a = where(both, x, 1.0), b = where(both, y, 1.0);
    const Array in_x = where(both, log_of_ratio(a, b), -1.0), in_y = 1 - where(both, a / b, 0.0);
    return std::pair(divergence(stop_gradient(x), stop_gradient(y)), in_x * dx + in_y * dy);
  })(x, y);
}
}  // namespace

Array xlogy(Operand x, Operand y) {
  return in_doubles("xlogy", {x, y}, [](In in) { return times_log(in[0], in[1], log); });
}
Array xlog1py(Operand x, Operand y) {
  return in_doubles("xlog1py", {x, y}, [](In in) { return times_log(in[0], in[1], log1p); });
}
Array entr(Operand x) {
  return in_doubles("entr", {x}, [](In in) {
    const Array& v = in[0];
    return where(v < 0, -v0::inf, -times_log(v, where(v < 0, 1.0, v), log));
  });
}
Array rel_entr(Operand x, Operand y) {
  return in_doubles("rel_entr", {x, y}, [](In in) { return relative(in[0], in[1]); });
}
Array kl_div(Operand x, Operand y) {
  return in_doubles("kl_div", {x, y}, [](In in) { return divergence_of(in[0], in[1]); });
}

}  // namespace tessera::inline v0
