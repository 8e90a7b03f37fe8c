#include "api/special/double_double.h"

#include <tessera/bits.h>

#include <numbers>

namespace tessera::inline v0::detail {

DoubleDouble sum_of(const Array& x, const Array& y) {
  const Array s = x + y, part = s - x;
  return {s, (x - (s - part)) + (y - part)};
}

namespace {
// The exact sum, if |x| >= |y|.
DoubleDouble ordered_sum(const Array& x, const Array& y) {
  const Array s = x + y;
  return {s, y - (s - x)};
}
// Splits x into its upper 26 bits and the rest.
DoubleDouble halves_of(const Array& x) {
  const Array t = x * 0x1.0000002p27, high = t - (t - x);
  return {high, x - high};
}
}  // namespace

DoubleDouble product_of(const Array& x, const Array& y) {
  const Array p = x * y;
  const DoubleDouble a = halves_of(x), b = halves_of(y);
  return {p, ((a.high * b.high - p) + a.high * b.low + a.low * b.high) + a.low * b.low};
}
DoubleDouble pair_of(const Array& x) { return {x, zeros_like(x)}; }
DoubleDouble pair_like(const Array& like, double high, double low) {
  return {full_like(like, high), full_like(like, low)};
}

DoubleDouble plus(const DoubleDouble& x, const DoubleDouble& y) {
  const DoubleDouble s = sum_of(x.high, y.high), rest = sum_of(x.low, y.low);
  const DoubleDouble t = ordered_sum(s.high, s.low + rest.high);
  return ordered_sum(t.high, t.low + rest.low);
}
DoubleDouble plus(const DoubleDouble& x, const Array& y) {
  const DoubleDouble s = sum_of(x.high, y);
  return ordered_sum(s.high, s.low + x.low);
}
DoubleDouble times(const DoubleDouble& x, const DoubleDouble& y) {
  const DoubleDouble p = product_of(x.high, y.high);
  return ordered_sum(p.high, p.low + (x.high * y.low + x.low * y.high));
}
DoubleDouble times(const DoubleDouble& x, const Array& y) {
  const DoubleDouble p = product_of(x.high, y);
  return ordered_sum(p.high, p.low + x.low * y);
}
DoubleDouble minus(const DoubleDouble& x) { return {-x.high, -x.low}; }
DoubleDouble over(const DoubleDouble& x, const DoubleDouble& y) {
  const Array q = x.high / y.high;
  const DoubleDouble back = product_of(q, y.high);
  const Array rest = (((x.high - back.high) - back.low) + x.low) - q * y.low;
  return ordered_sum(q, rest / y.high);
}
DoubleDouble chosen(const Array& condition, const DoubleDouble& x, const DoubleDouble& y) {
  return {where(condition, x.high, y.high), where(condition, x.low, y.low)};
}
Array rounded(const DoubleDouble& x) { return x.high + x.low; }

Array plus(const Array& x, const Array& y) { return x + y; }
Array times(const Array& x, const Array& y) { return x * y; }
Array minus(const Array& x) { return -x; }
Array over(const Array& x, const Array& y) { return x / y; }
Array chosen(const Array& condition, const Array& x, const Array& y) {
  return where(condition, x, y);
}
Array rounded(const Array& x) { return x; }

// x = 2^k m with m near 1; log m = 2 artanh s with s = (m - 1) / (m + 1), by its power series (DLMF
// 4.6.4), with the first terms in double-double.
DoubleDouble log_of(const DoubleDouble& x) {
  constexpr std::int64_t kRootHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
  const Array bits = bitcast_convert_type(x.high, DType::int64);
  const Array k = (bits - kRootHalf) >> 52;
  const Array m = bitcast_convert_type(bits - (k << 52), DType::float64);
  const Array scale = bitcast_convert_type(kOne - (k << 52), DType::float64);
  const Array exponent = astype(k, DType::float64);
  const DoubleDouble above = plus(sum_of(m, ones_like(m)), x.low * scale);
  const DoubleDouble s = over(plus(pair_of(m - 1), x.low * scale), above);
  const DoubleDouble square = times(s, s);
  std::vector<double> c;
  for (int n = 9; n < 37; n += 2) c.push_back(2.0 / n);
  DoubleDouble r = pair_of(series(square.high, c) * square.high);
  const double heads[][2] = {{0.2857142857142857, 1.586032892321652e-17},
                             {0.4, -2.2204460492503132e-17},
                             {0.6666666666666666, 3.700743415417188e-17}};
  for (const auto& [high, low] : heads) r = times(plus(pair_like(r.high, high, low), r), square);
  r = times(plus(pair_like(r.high, 2, 0), r), s);
  // log(2) in two parts; the product of the first part with k is exact.
  const DoubleDouble whole =
      plus(pair_of(exponent * 7.371002565167799e-13), exponent * 0.6931471805592082);
  return plus(whole, r);
}

DoubleDouble log1p_of(const DoubleDouble& t) {
  const Array tiny = t.high < 0x1p-24;
  const DoubleDouble u = chosen(tiny, t, pair_of(full_like(t.high, 0x1p-30)));
  const DoubleDouble small = plus(u, u.high * u.high * (-0.5 + u.high / 3));
  const DoubleDouble v = chosen(tiny, pair_of(ones_like(t.high)), t);
  return chosen(tiny, small, log_of(plus(v, ones_like(t.high))));
}

// exp(x.high), corrected with its logarithm by one step of Newton's method.
DoubleDouble exp_of(const DoubleDouble& x) {
  const Array inside = (x.high > -690) & (x.high < 709);
  const Array e = exp(x.high), safe = where(inside, e, 1.0);
  const DoubleDouble back = log_of(pair_of(safe));
  const Array off = ((x.high - back.high) - back.low) + x.low;
  const Array beyond = isinf(e), finite = where(beyond, 1.0, e);
  const DoubleDouble r = ordered_sum(finite, finite * where(inside, off, x.low));
  return {where(beyond, e, r.high), where(beyond, 0.0, r.low)};
}

namespace {
Array log_of(const Array& x) { return log(x); }
Array log1p_of(const Array& x) { return log1p(x); }
Array log_gamma_of(const Array& x) { return gammaln(x); }

// The series part of Stirling's formula (DLMF 5.11.1), for x >= 10.
template <class Number>
Number stirling_rest(const Number& x) {
  const double c[] = {-0.002777777777777778, 0.0007936507936507937,  -0.0005952380952380953,
                      0.0008417508417508417, -0.0019175269175269176, 0.00641025641025641,
                      -0.029550653594771242, 0.17964437236883057,    -1.3924322169059011,
                      13.402864044168393,    -156.84828462600203};
  const Number inverse = over(number_of<Number>(ones_like(head(x))), x);
  const Array square = head(inverse) * head(inverse);
  const Number twelfth = constant_as<Number>(head(x), 0.08333333333333333, 4.625929269271485e-18);
  return plus(times(inverse, twelfth), head(inverse) * square * series(square, c));
}
DoubleDouble far_log_gamma(const DoubleDouble& x) {
  const DoubleDouble constant = pair_like(x.high, 0.9189385332046728, -3.8782941580672414e-17);
  const DoubleDouble main = times(plus(x, full_like(x.high, -0.5)), log_of(x));
  return plus(plus(main, minus(x)), plus(stirling_rest(x), constant));
}
constexpr int kSteps = 10;
// x (x + 1) ... (x + 9).
template <class Number>
Number rising(const Number& x) {
  Number p = x;
  for (int k = 1; k < kSteps; ++k) p = times(p, plus(x, full_like(head(x), k)));
  return p;
}
}  // namespace

DoubleDouble log_gamma_of(const DoubleDouble& x) {
  const Array near = x.high < kSteps;
  const DoubleDouble one = pair_of(ones_like(x.high));
  const DoubleDouble lost =
      chosen(near, log_of(rising(chosen(near, x, one))), pair_of(zeros_like(x.high)));
  const DoubleDouble far = far_log_gamma(chosen(near, plus(x, full_like(x.high, kSteps)), x));
  return plus(far, minus(lost));
}

// The series -gamma x + zeta(2) / 2 x^2 - ... (DLMF 5.7.3).
DoubleDouble log_gamma_near_one(const Array& x) {
  const double c[] = {-0.40068563438653143, 0.27058080842778454, -0.20738555102867398,
                      0.1695571769974082,   -0.1440498967688461, 0.12550966952474304,
                      -0.11133426586956469, 0.1000994575127818,  -0.09095401714582904,
                      0.083353840546109,    -0.0769325164113522, 0.07143294629536133,
                      -0.06666870588242046};
  const DoubleDouble head = times(pair_like(x, 0.8224670334241132, 1.520336175199238e-17), x);
  const DoubleDouble sum = plus(plus(head, x * x * series(x, c)),
                                pair_like(x, -0.5772156649015329, 4.942915152430645e-18));
  return times(sum, x);
}

// With a the greater operand, gamma(a) / gamma(a + b) is computed from differences in Stirling's
// series, because the logarithms would cancel.
template <class Number>
Number log_beta_of(const Array& x, const Array& y) {
  const Array a = maximum(x, y), b = minimum(x, y), near = a < kSteps;
  const Number one = number_of<Number>(ones_like(a)), whole = sum_as<Number>(a, b);
  const Array steps = where(near, 1.0 * kSteps, 0.0);
  const Number far = sum_as<Number>(a, steps), far_whole = plus(whole, steps);
  const Number part = number_of<Number>(b), ratio = log1p_of(over(part, far));
  // (a - 1/2) log(a / (a + b)) + b - b log(a + b), plus the correction for the steps below.
  Number r = minus(times(ratio, plus(far, full_like(a, -0.5))));
  r = plus(r, plus(part, minus(times(log_of(far_whole), b))));
  r = plus(r, plus(stirling_rest(far), minus(stirling_rest(far_whole))));
  const Number inside = chosen(near, number_of<Number>(a), one);
  const Number lost =
      log_of(chosen(near, over(rising(chosen(near, whole, one)), rising(inside)), one));
  return plus(plus(r, lost), log_gamma_of(part));
}
template DoubleDouble log_beta_of(const Array& a, const Array& b);
template Array log_beta_of(const Array& a, const Array& b);

}  // namespace tessera::inline v0::detail
