// Kummer's and Gauss's hypergeometric functions.
#include "api/special/double_double.h"

#include <tessera/control_flow.h>
#include <tessera/custom.h>
#include <tessera/grad.h>

#include <cmath>
#include <functional>
#include <numbers>

namespace tessera::inline v0 {

using detail::chosen;
using detail::count_over;
using detail::DoubleDouble;
using detail::head;
using detail::in_float64;
using detail::minus;
using detail::number_of;
using detail::over;
using detail::plus;
using detail::rounded;
using detail::times;

namespace {
using In = std::span<const Array>;
using Operands = std::vector<Array>;
using Of = std::function<Array(const Operands&)>;

// f with its derivatives: in the last operand by `slope`, in the others by differentiating `plain`,
// which is f in doubles.
Array differentiable(const Of& f, const Of& plain, const Of& slope, const Operands& x) {
  const auto value = [f](Operands v) { return f(v); };
  return custom_jvp(value, [f, plain, slope](Operands v, Operands dv) {
    Array tangent = slope(v) * dv.back();
    for (std::size_t i = 0; i + 1 < v.size(); ++i) {
      const Of partial = [plain, i](const Operands& at) {
        Operands unit;
        for (std::size_t k = 0; k < at.size(); ++k)
          unit.push_back(k == i ? ones_like(at[k]) : zeros_like(at[k]));
        return jvp([&](Operands u) { return plain(u); }, at, unit).second;
      };
      const Of its_slope = [partial](const Operands& at) {
        Operands unit;
        for (std::size_t k = 0; k < at.size(); ++k)
          unit.push_back(k + 1 == at.size() ? ones_like(at[k]) : zeros_like(at[k]));
        return jvp([&](Operands u) { return partial(u); }, at, unit).second;
      };
      tangent = tangent + differentiable(partial, partial, its_slope, v) * dv[i];
    }
    return std::pair(differentiable(f, plain, slope, v), tangent);
  })(x);
}

Array no_positive_integer(const Array& x) { return (x <= 0) & (x == floor(x)); }

// After the end of a polynomial, the denominators of its terms may be zero.
template <class Number>
Number unless_ended(const Number& term, const Number& factor) {
  return chosen(head(term) == 0, number_of<Number>(zeros_like(head(term))), factor);
}

// When a series ends, its further terms are zero, but their derivatives in the parameters are not,
// so differentiation goes through them. `size` is the size of the terms if no factor were zero.
enum class AtTheEnd { stop, go_through };
template <class Number>
Number next_factor(AtTheEnd end, const Number& term, const Number& factor) {
  return end == AtTheEnd::stop ? unless_ended(term, factor) : factor;
}
template <class Number>
Array next_size(AtTheEnd end, const Array& size, const Number& term, const Number& factor) {
  if (end == AtTheEnd::stop) return abs(head(term));
  return where(head(factor) == 0, size, size * abs(head(factor)));
}

template <class Number>
struct SeriesTotal {
  Array n;
  Number term, sum;
  Array size, more;
};
// The sum of the terms after the first, each ratio(k) times the one before, until they are below
// 2^-60 of the sum and each is a quarter smaller than the last.
template <class Number>
Number summed_series(const Array& first, AtTheEnd end,
                     const std::function<Number(const Array& k)>& ratio) {
  constexpr int kAtOnce = 4;
  constexpr double kMost = 20000;
  return while_loop([](const SeriesTotal<Number>& s) { return any(s.more) & (s.n < kMost); },
                    [&](SeriesTotal<Number> s) {
                      for (int k = 0; k < kAtOnce; ++k) {
                        const Number factor = next_factor(end, s.term, ratio(s.n));
                        s.term = times(s.term, factor);
                        s.sum = plus(s.sum, s.term);
                        s.n = s.n + 1;
                        s.size = next_size(end, s.size, s.term, factor);
                        s.more =
                            (s.size != 0) & isfinite(head(s.sum)) &
                            ((s.size > 0x1p-60 * abs(head(s.sum))) | (abs(head(factor)) > 0.75));
                      }
                      return s;
                    },
                    SeriesTotal<Number>{count_over(first), number_of<Number>(first),
                                        number_of<Number>(first), abs(first), first == first})
      .sum;
}
// a + k as a Number.
template <class Number>
Number series_stepped(const Number& a, const Array& k) {
  return plus(a, k);
}

// --- 1F1

// Up to x = 50, and farther if the parameters are large in comparison, the power series (DLMF
// 13.2.2); for x < 0, Kummer's transformation (DLMF 13.2.39); beyond, the expansion for large x
// (DLMF 13.7.1). If the terms of the expansion do not fall, it is used only where the series has
// too many terms or leaves the range of doubles.
template <class Number>
Array kummer_to(AtTheEnd end, const Operands& in) {
  const Array &a = in[0], &b = in[1], &x = in[2];
  const Array one = a == 0, exponential = (a == b) & (!one);
  const Array unknown = isnan(a) | isnan(b) | isnan(x);
  const Array polynomial = no_positive_integer(a);
  const Array pole = no_positive_integer(b) & !(polynomial & (a > b));
  const Array endless = isinf(a) | isinf(b) | isinf(x);
  const Array usual = !(one | exponential | pole | unknown | endless);
  const Array p = where(usual, a, 1.0), q = where(usual, b, 2.0), v = where(usual, x, 0.5);
  // A polynomial is summed directly, because its terms have one sign below zero.
  const Array mirror = less(v, 0) & (!no_positive_integer(p));
  const Array size = where(mirror, -v, v), top = where(mirror, q - p, p);
  const Array ends = no_positive_integer(top);
  const Array growth = (1 + abs(1 - top)) * (1 + abs(q - top));
  const Array far =
      (size > 50) & (!ends) & ((size > 4 * growth) | (size > where(mirror, 1400.0, 15000.0)));

  const Array scale = where(mirror & (size > 900), 0x1p-1000, 0x1p-600);
  const Array y = where(far, 0.5, size);
  const Number number_p = number_of<Number>(p), number_q = number_of<Number>(q);
  const Number start = chosen(mirror, plus(number_q, -p), number_p);
  const Number s = summed_series<Number>(scale, end, [&](const Array& k) {
    const Number bottom = times(series_stepped(number_q, k), ones_like(x) * (k + 1));
    return over(times(series_stepped(start, k), y), bottom);
  });
  const Array half = where(mirror, exp(-0.5 * y), 1.0);
  const Array sum = rounded(s) * half / scale * half;
  // If all terms are positive, a sum that overflows is infinite, although its double-double parts
  // give NaN.
  const Array near = where(isnan(sum) & (!mirror) & (p > 0) & (q > 0), v0::inf, sum);

  // Gamma(b) / Gamma(a) exp(x) x^(a - b) (1 + (b - a)(1 - a) / x + ...) while the terms fall.
  const Array z = where(far, size, 100.0), upper = where(far, top, 1.0), lower = where(far, q, 2.0);
  const Array rest = lower - upper;
  Array term = ones_like(x), tail = ones_like(x), falling = term == 1;
  for (int k = 0; k < 48; ++k) {
    const Array next = term * (rest + k) * (1 - upper + k) / (z * (k + 1.0));
    falling = falling & ((abs(next) < abs(term)) | (abs(next) == 0));
    term = where(falling, next, 0.0);
    tail = tail + term;
  }
  const Array rise = where(mirror, 1.0, exp(0.5 * where(mirror, 0.0, z)));
  // Near the pole of Gamma(b), the sum a + (b - a) would lose b.
  const Array beside = (abs(lower) < 1) & (abs(upper) < 20);
  const Array quotient = where(beside, gamma(where(beside, lower, 1.0)) / gamma(upper),
                               poch(upper, where(beside, 0.0, rest)));
  const Array direct = quotient * power(z, -rest);
  // Either factor may overflow even if their product does not.
  const Array apart = isnan(direct) & (upper > 0) & (lower > 0) & (abs(rest * (1 - upper)) < z);
  const Array lead = where(
      apart,
      exp(gammaln(where(apart, lower, 1.0)) - gammaln(where(apart, upper, 1.0)) - rest * log(z)),
      direct);
  // The other solution (DLMF 13.7.2) is below the rounding error of the first, unless a is so close
  // to zero that the first one vanishes.
  const Array tiny = abs(upper) < 1e-3, small = where(tiny, upper, 0.0);
  const Array other = poch(where(tiny, lower, 1.0) - small, small) * power(z, -small) *
                      cos(small * std::numbers::pi) * where(mirror, exp(-z), 1.0);
  const Array beyond = lead * tail * rise * rise + where(tiny, other, 0.0);
  const Array r = where(far, beyond, near);
  const Array limits = where(x == v0::inf, v0::inf, v0::nan);
  const Array others =
      where(exponential, exp(where(exponential, x, 0.0)), where(pole, v0::inf, limits));
  return where(unknown, v0::nan, where(one, 1.0, where(usual, r, others)));
}
template <class Number>
Array kummer(const Operands& in) {
  return kummer_to<Number>(AtTheEnd::stop, in);
}
Array kummer_slope(const Operands& in);
Array differentiable_kummer(const Operands& in, bool narrow) {
  const Of plain = [](const Operands& v) {
    return where(no_positive_integer(v[0]), v0::nan, kummer_to<Array>(AtTheEnd::go_through, v));
  };
  return differentiable(narrow ? kummer<Array> : kummer<DoubleDouble>, plain, kummer_slope, in);
}
// DLMF 13.3.15.
Array kummer_slope(const Operands& in) {
  return in[0] / in[1] * differentiable_kummer({in[0] + 1, in[1] + 1, in[2]}, false);
}

// --- 2F1

struct Walk {
  Array value, slope, left;
};
// F at 1 - s for s from `start` down to `end`, by Taylor series of the differential equation (DLMF
// 15.10.1), each of which halves s. This works arbitrarily close to 1 and for every c - a - b,
// whereas the formulas for 1 - x cancel if that is near an integer. `slope` is s times the
// derivative. Steps are shorter where x ** (1 - c) or s ** (c - a - b), the solutions that rounding
// errors introduce, change much within one step: their series would cancel or converge too slowly.
Array walked(const Array& value, const Array& slope, double start, const Array& end, const Array& a,
             const Array& b, const Array& c) {
  constexpr int kTerms = 64;
  const Array both = a + b + 1, least = c - both;
  const Array low = 2 / maximum(abs(c), 4.0), high = 2 / maximum(abs(c - a - b), 4.0);
  return while_loop([&](const Walk& w) { return any(w.left > end); },
                    [&](Walk w) {
                      const Array at = 1 - w.left;
                      const Array part = maximum(minimum(low * at / w.left, high), 1.0 / 1024);
                      const Array next = maximum(w.left - minimum(part, 0.5) * w.left, end);
                      const Array step = (w.left - next) / w.left;
                      const Array ratio = step / at, square = step * ratio * w.left;
                      const Array tilt = 2 * w.left - 1, bend = least + both * w.left;
                      Array before = w.value, here = w.slope * step;
                      Array sum = before + here, slopes = w.slope, power = step;
                      // The terms are g_n = f_n d^n; those of the slopes are n g_n / d.
                      for (int n = 0; n < kTerms; ++n) {
                        const Array g = ((a + n) * (b + n) * square * before -
                                         (n + 1) * (tilt * n + bend) * ratio * here) /
                                        ((n + 2.0) * (n + 1));
                        before = here, here = g;
                        sum = sum + g;
                        slopes = slopes + (n + 2) * g / where(step > 0, step, 1.0);
                      }
                      return Walk{sum, slopes * (next / w.left), next};
                    },
                    Walk{value, slope, maximum(full_like(end, start), end)})
      .value;
}

template <class Number>
struct WithSlope {
  Number value;
  Array slope;
};
// The power series (DLMF 15.2.1) for |x| <= 1/2 or polynomials, and x times its derivative.
template <class Number>
struct Series {
  Array n;
  Number term, sum;
  Array slope, size, more;
};
template <class Number>
WithSlope<Number> gauss_series(AtTheEnd end, const Number& a, const Number& b, const Number& c,
                               const Array& x) {
  const Array one = ones_like(x);
  const Series<Number> r = while_loop(
      [](const Series<Number>& s) { return any(s.more) & (s.n < 20000); },
      [&](Series<Number> s) {
        for (int k = 0; k < 4; ++k) {
          const Number bottom = times(series_stepped(c, s.n), one * (s.n + 1));
          const Number top = times(times(series_stepped(a, s.n), series_stepped(b, s.n)), x);
          const Number factor = next_factor(end, s.term, over(top, bottom));
          s.term = times(s.term, factor);
          s.sum = plus(s.sum, s.term);
          s.n = s.n + 1;
          s.slope = s.slope + head(s.term) * s.n;
          s.size = next_size(end, s.size, s.term, factor);
          s.more = (s.size != 0) & isfinite(head(s.sum)) &
                   ((s.size > 0x1p-60 * abs(head(s.sum))) | (abs(head(factor)) > 0.75));
        }
        return s;
      },
      Series<Number>{count_over(x), number_of<Number>(one), number_of<Number>(one), zeros_like(x),
                     one, one == 1});
  return {r.sum, r.slope};
}

template <class Number>
Array gauss_to(AtTheEnd end, const Operands& in) {
  const Array &a = in[0], &b = in[1], &c = in[2], &x = in[3];
  const Array unknown = isnan(a) | isnan(b) | isnan(c) | isnan(x);
  const Array endless = isinf(a) | isinf(b) | isinf(c) | isinf(x);
  const Array by_a = no_positive_integer(a), by_b = no_positive_integer(b);
  // The series ends with the first of a and b to reach zero, provided that this comes before a
  // pole.
  const Array last = maximum(where(by_a, a, -v0::inf), where(by_b, b, -v0::inf));
  const Array polynomial = (by_a | by_b) & !(no_positive_integer(c) & (last <= c));
  const Array one = (x == 0) | (((a == 0) | (b == 0)) & (c != 0));
  const Array pole = no_positive_integer(c) & !polynomial;
  const Array d = c - a - b, at_one = (x == 1) & !polynomial;
  const Array infinite = pole | ((x > 1) & !polynomial) | (at_one & (d <= 0));
  const Array special = unknown | endless | one | infinite | at_one;
  const Array p = where(special, 1.0, a), q = where(special, 1.0, b), r = where(special, 2.0, c);
  const Array v = where(special, 0.25, x), ends = where(special, false, polynomial);

  // For x < -1/2, Pfaff's transformation (DLMF 15.8.1), with the smaller of a and b as exponent.
  const Array turned = less(v, -0.5) & (!ends), least = minimum(p, q), most = maximum(p, q);
  const Array y = where(turned, v / (v - 1), v), s = where(turned, 1 / (1 - v), 1 - v);
  const Number wide_c = number_of<Number>(r);
  Number first = number_of<Number>(where(turned, least, p));
  Number second = chosen(turned, plus(wide_c, -most), number_of<Number>(q));
  Array factor = where(turned, power(where(turned, s, 0.5), least), 1.0);
  // Beyond 1/2, if c - a - b < 0 or the result is a polynomial, Euler's transformation (DLMF
  // 15.8.1).
  const Number gap_a = plus(wide_c, minus(first)), gap_b = plus(wide_c, minus(second));
  const Array excess = rounded(plus(gap_a, minus(second)));
  const Array near_one = (y > 0.5) & (!ends);
  const Array finite = no_positive_integer(rounded(gap_a)) | no_positive_integer(rounded(gap_b));
  const Array mirrored = near_one & (less(excess, 0) | finite);
  first = chosen(mirrored, gap_a, first);
  second = chosen(mirrored, gap_b, second);
  factor = factor * where(mirrored, power(where(mirrored, s, 0.5), excess), 1.0);
  Array short_sum = ends;
  if (end == AtTheEnd::stop)
    short_sum = ends | no_positive_integer(rounded(first)) | no_positive_integer(rounded(second));
  // If c is large compared with the others, the series converges fast enough up to 1: its terms
  // fall like n ** -(c - a - b) once n exceeds the parameters, or from the first term on.
  const Array sizes = abs(rounded(first)) + abs(rounded(second)) + abs(r);
  const Array falls = (excess > 12) & (sizes * exp2(60 / maximum(excess, 12.0)) < 16000) &
                      (minimum(rounded(first), rounded(second)) > -8);
  const Array at_once = (r > 240) & (abs(rounded(first)) + abs(rounded(second)) < 0.25 * r) &
                        (abs(rounded(first) * rounded(second)) < 0.25 * r);
  short_sum = short_sum | (near_one & (!mirrored) & (falls | at_once));
  const Array far = (y > 0.5) & (!short_sum);
  const Array at = where(far, 0.5, y);
  const WithSlope<Number> sum = gauss_series<Number>(end, first, second, wide_c, at);
  const Array start = rounded(sum.value);
  const Array walk = walked(start, where(far, sum.slope, 0.0), 0.5, where(far, s, 0.5),
                            rounded(first), rounded(second), r);
  // If c equals a or b, the function is a power (DLMF 15.4.6). Derivatives in a and b need the
  // series.
  const Array cancels = end == AtTheEnd::stop ? ((p == r) | (q == r)) & (!ends) : x != x;
  const Array power_of = power(where(cancels, 1 - v, 1.0), -where(q == r, p, q));
  const Array usual = where(cancels, power_of, factor * where(far, walk, start));

  // Gauss's theorem (DLMF 15.4.20): Gamma(c) Gamma(c - a - b) / (Gamma(c - a) Gamma(c - b)).
  const Array summable = at_one & (d > 0) & !(unknown | endless | pole | one);
  const Array e = where(summable, a, 0.0), f = where(summable, b, 0.0), g = where(summable, c, 1.0);
  // If the sum of a polynomial overflows, its value is (b)_n / (c)_n (-x)^n with a = -n, from the
  // same functions.
  const Array great = ends & isnan(usual), count = where(great, -last, e);
  const Array base = where(great, where(by_a & (a == last), b, a), g - e);
  const Array theorem = poch(base, count) * poch(where(great, c - last, g - f), -count);
  const Array others = where(summable, theorem, where(infinite, v0::inf, v0::nan));
  const Array whole = where(great, theorem * power(where(great, -x, 1.0), count), usual);
  return where(unknown | (endless & !one), v0::nan, where(one, 1.0, where(special, others, whole)));
}
template <class Number>
Array gauss(const Operands& in) {
  return gauss_to<Number>(AtTheEnd::stop, in);
}
Array gauss_slope(const Operands& in);
Array differentiable_gauss(const Operands& in, bool narrow) {
  const Of plain = [](const Operands& v) {
    const Array ends = no_positive_integer(v[0]) | no_positive_integer(v[1]);
    return where(ends, v0::nan, gauss_to<Array>(AtTheEnd::go_through, v));
  };
  return differentiable(narrow ? gauss<Array> : gauss<DoubleDouble>, plain, gauss_slope, in);
}
// DLMF 15.5.1.
Array gauss_slope(const Operands& in) {
  return in[0] * in[1] / in[2] *
         differentiable_gauss({in[0] + 1, in[1] + 1, in[2] + 1, in[3]}, false);
}
}  // namespace

Array hyp1f1(Operand a, Operand b, Operand x) {
  return in_float64("hyp1f1", {a, b, x}, [](In in, bool narrow) {
    return differentiable_kummer({in.begin(), in.end()}, narrow);
  });
}
Array hyp2f1(Operand a, Operand b, Operand c, Operand x) {
  return in_float64("hyp2f1", {a, b, c, x}, [](In in, bool narrow) {
    return differentiable_gauss({in.begin(), in.end()}, narrow);
  });
}

}  // namespace tessera::inline v0
