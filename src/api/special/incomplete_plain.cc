#include "api/special/incomplete_plain.h"

#include "api/special/double_double.h"
#include "api/special/incomplete_large.h"

#include <tessera/control_flow.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0::detail {

namespace {
constexpr double kSmallest = 1e-300;
constexpr int kMostTerms = 20000;  // for parameters up to kLargeShape
// Iterations per kernel of a loop: reading and writing the carry takes as long as one iteration.
constexpr int kTermsAtOnce = 8;
constexpr double kSmallShape = 0.03;
}  // namespace

// For large a, as a power of a number near 1, because the logarithms are large and cancel; gamma by
// Stirling's series (DLMF 5.11.3).
Array plain_gamma_factor(const Array& a, const Array& x) {
  const Array large = a > 20;
  const Array b = where(large, a, 30.0), part = (where(large, x, 30.0) - b) / b;
  // log(1 + u) - u; its power series (DLMF 4.6.1) is used where the terms cancel.
  std::vector<double> c{0, 0};
  for (int k = 2; k < 30; ++k) c.push_back((k % 2 ? 1.0 : -1.0) / k);
  const Array near = abs(part) < 0.25, inside = where(near, part, 0.0);
  // If x is small, the part rounds to -1, so take the logarithm of x itself.
  const Array little = (part < -0.5) & (x > 0), outside = where(near | little, 1.0, part);
  const Array logarithm = where(little, log(where(little, x, 30.0) / b), log1p(outside));
  const Array linear = where(little, part, outside);
  const Array exponent = where(near, series(inside, c), logarithm - linear);
  const double stirling[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188};
  const Array rest = series(1 / (b * b), stirling) / b;
  const Array far = exp(b * exponent - rest) / sqrt(2 * std::numbers::pi * b);
  const Array s = where(large, 1.0, a), v = where(large, 1.0, x);
  const Array close = exp(s * log(where(v == 0, 1.0, v)) - v - gammaln(s + 1));
  const Array r = where(large, far, close);
  return where((x == 0) & (a > 0), 0.0, r);
}

namespace {
struct Terms {
  Array n, term, sum;
};
// The lower function divided by its factor (DLMF 8.7.1): 1 + x / (a + 1) + x^2 / (a + 1)(a + 2) +
// ...
Array lower_series(const Array& a, const Array& x, double enough) {
  const Array zero = count_over(a);
  return v0::while_loop(
             [&](const Terms& t) { return any(t.term > enough * t.sum) & (t.n < kMostTerms); },
             [&](Terms t) {
               for (int k = 0; k < kTermsAtOnce; ++k) {
                 t.n = t.n + 1;
                 t.term = t.term * x / (a + t.n);
                 t.sum = t.sum + t.term;
               }
               return t;
             },
             Terms{zero, ones_like(a), ones_like(a)})
      .sum;
}
// For small a, where the upper function is small: the lower one as x^a / gamma(a + 1) times 1 + a
// sum of (-x)^n / (n! (a + n)) (DLMF 8.7.3), for x up to 2.
Array part_of_small(const Array& a, const Array& x, bool upper) {
  Array power = ones_like(a), s = zeros_like(a);
  for (int n = 1; n < 30; ++n) {
    power = power * x * (-1.0 / n);
    s = s + power / (a + n);
  }
  const double c[] = {-0.5772156649015329, 0.8224670334241132,   -0.40068563438653143,
                      0.27058080842778454, -0.20738555102867398, 0.1695571769974082,
                      -0.1440498967688461, 0.12550966952474304,  -0.11133426586956469,
                      0.1000994575127818};
  const Array l = a * (log(x) - series(a, c));
  return upper ? -(expm1(l) + exp(l) * a * s) : exp(l) * (1 + a * s);
}
struct Fraction {
  Array n, c, d, value, change;
};
Array nonzero_of(const Array& v) { return where(abs(v) < kSmallest, kSmallest, v); }
// The upper function divided by x^a exp(-x) / gamma(a): the continued fraction of DLMF 8.9.2, by
// Lentz's algorithm.
Array upper_fraction(const Array& a, const Array& x, double enough) {
  const Array zero = count_over(a), b = x + 1 - a, d = 1 / nonzero_of(b);
  return v0::while_loop(
             [&](const Fraction& f) {
               return any(abs(f.change - 1) > enough) & (f.n < kMostTerms);
             },
             [&](Fraction f) {
               for (int k = 0; k < kTermsAtOnce; ++k) {
                 const Array n = f.n + 1, top = n * (a - n), bottom = b + 2 * n;
                 const Array d = 1 / nonzero_of(top * f.d + bottom);
                 const Array c = nonzero_of(bottom + top / f.c), change = c * d;
                 f = Fraction{n, c, d, f.value * change, change};
               }
               return f;
             },
             Fraction{zero, full_like(a, 1 / kSmallest), d, d, zeros_like(a)})
      .value;
}
}  // namespace

Array plain_gamma_part(const Array& a, const Array& x, bool upper, double enough) {
  const Array valid = (a > 0) & (x >= 0) & isfinite(x) & isfinite(a);
  const Array large = valid & (a > kLargeShape), usual_size = valid & !large;
  const Array s = where(usual_size, a, 1.0), v = where(usual_size, x, 1.0);
  const Array by_series = (v < s + 1) | (v < 2), small = by_series & (v > 0) & (s < kSmallShape);
  const Array factor = plain_gamma_factor(s, v);
  const Array lower =
      factor * lower_series(where(by_series, s, 1.0), where(by_series, v, 0.0), enough);
  const Array above =
      factor * s * upper_fraction(where(by_series, 1.0, s), where(by_series, 4.0, v), enough);
  const Array usual =
      upper ? where(by_series, 1 - lower, above) : where(by_series, lower, 1 - above);
  const Array least = part_of_small(where(small, s, kSmallShape), where(small, v, 1.0), upper);
  const Array r = where_any(
      large, [upper](const Array& a, const Array& x) { return large_gamma_part(a, x, upper); },
      where(small, least, usual), where(large, a, 2 * kLargeShape), where(large, x, 1.0));
  const double none = upper ? 0.0 : 1.0;  // the value when everything is below x
  const Array ends = where((x == v0::inf) & (a >= 0) & isfinite(a), none,
                           where((a == 0) & (x > 0), none, v0::nan));
  const Array infinite = where((a == v0::inf) & (x >= 0) & isfinite(x), 1 - none, ends);
  return where(valid, r, infinite);
}
namespace {
// The continued fraction of DLMF 8.17.22 by Lentz's algorithm, two steps at a time.
Array beta_fraction(const Array& a, const Array& b, const Array& x, double enough) {
  const Array zero = count_over(a);
  const Array start = 1 / nonzero_of(1 - (a + b) * x / (a + 1));
  const auto step = [](const Fraction& f, const Array& top) {
    const Array d = 1 / nonzero_of(1 + top * f.d), c = nonzero_of(1 + top / f.c);
    return Fraction{f.n, c, d, f.value * c * d, c * d};
  };
  return v0::while_loop(
             [&](const Fraction& f) {
               return any(abs(f.change - 1) > enough) & (f.n < kMostTerms);
             },
             [&](Fraction f) {
               for (int k = 0; k < kTermsAtOnce / 2; ++k) {
                 const Array n = f.n + 1, twice = a + 2 * n;
                 f = step(f, n * (b - n) * x / ((twice - 1) * twice));
                 f = step(f, -(a + n) * (a + b + n) * x / (twice * (twice + 1)));
                 f.n = n;
               }
               return f;
             },
             Fraction{zero, ones_like(a), start, start, zeros_like(a)})
      .value;
}
}  // namespace

Array plain_log_beta(const Array& a, const Array& b) { return log_beta_of<Array>(a, b); }
Array plain_beta_part(const Array& a, const Array& b, const Array& x, double enough) {
  const Array valid = (a > 0) & (b > 0) & (x > 0) & (x < 1) & isfinite(a) & isfinite(b);
  const auto [usual, large, limit] = beta_case(a, b, valid);
  const Array p = where(usual, a, 1.0), q = where(usual, b, 1.0), v = where(usual, x, 0.5);
  // For a tiny b, the complement would be everything except the requested part.
  const Array turned = (v > (p + 1) / (p + q + 2)) & (q > 0x1p-30);
  const Array s = where(turned, q, p), t = where(turned, p, q), w = where(turned, 1 - v, v);
  const Array factor = exp(p * log(v) + q * log1p(-v) - plain_log_beta(p, q)) / s;
  const Array part = factor * beta_fraction(s, t, w, enough);
  Array r = where(turned, 1 - part, part);
  r = where_any(large, large_beta_part, r, where(large, a, 2 * kLargeShape),
                where(large, b, 2 * kLargeShape), where(large, x, 0.5));
  const auto by_gamma = [enough](const Array& a, const Array& b, const Array& x) {
    return beta_by_gamma(a, b, x, [enough](const Array& a, const Array& x, bool upper) {
      return plain_gamma_part(a, x, upper, enough);
    });
  };
  r = where_any(limit, by_gamma, r, where(limit, a, 1.0), where(limit, b, 1e31),
                where(limit, x, 0.5));
  return where(valid, clip(r, 0.0, 1.0), beta_at_the_ends(a, b, x));
}
Array plain_beta_density(const Array& a, const Array& b, const Array& x) {
  const Array large = minimum(a, b) > kLargeShape;
  const Array p = where(large, 1.0, a), q = where(large, 1.0, b);
  const Array usual = exp((p - 1) * log(x) + (q - 1) * log1p(-x) - plain_log_beta(p, q));
  const auto beyond = [](const Array& a, const Array& b, const Array& x) {
    return large_beta_density(a, b, x) / (x * (1 - x));
  };
  return where_any(large, beyond, usual, where(large, a, 2 * kLargeShape),
                   where(large, b, 2 * kLargeShape), where(large, x, 0.5));
}

}  // namespace tessera::inline v0::detail
