// The regularised incomplete gamma functions: sums of positive terms and a continued fraction in
// double-double, so that only the last rounding matters.
#include "api/special/double_double.h"
#include "api/special/incomplete_double_double.h"
#include "api/special/incomplete_large.h"
#include "api/special/incomplete_plain.h"

#include <tessera/control_flow.h>
#include <tessera/custom.h>
#include <tessera/grad.h>

namespace tessera::inline v0 {

using detail::count_over;
using detail::DoubleDouble;
using detail::exp_of;
using detail::gamma_part;
using detail::in_float64;
using detail::kEnoughForDoubles;
using detail::kEnoughForFloats;
using detail::log_gamma_near_one;
using detail::log_gamma_of;
using detail::log_of;
using detail::minus;
using detail::pair_of;
using detail::plain_gamma_factor;
using detail::plain_gamma_part;
using detail::plus;
using detail::rounded;
using detail::sum_of;
using detail::times;

namespace {
using In = std::span<const Array>;
constexpr double kEnoughGamma = 0x1p-60;
constexpr int kMostGammaTerms = 20000;  // for a up to kLargeShape
constexpr double kSmallGammaShape = 0.03;

struct GammaTerms {
  Array n;
  DoubleDouble term, sum;
};

// The sum of terms, each computed from its index and the term before, from n = 0 on.
template <class F>
DoubleDouble sum_of_terms(const DoubleDouble& first, F&& next) {
  const Array zero = count_over(first.high);
  return while_loop(
             [](const GammaTerms& t) {
               return any(abs(t.term.high) > kEnoughGamma * abs(t.sum.high)) &
                      (t.n < kMostGammaTerms);
             },
             [&](const GammaTerms& t) {
               const Array n = t.n + 1;
               const DoubleDouble term = next(n, t.term);
               return GammaTerms{n, term, plus(t.sum, term)};
             },
             GammaTerms{zero, first, first})
      .sum;
}

// a log x - x - log gamma(a + 1)
DoubleDouble log_factor(const Array& a, const Array& x) {
  const DoubleDouble main = plus(times(log_of(pair_of(x)), a), -x);
  return plus(main, minus(log_gamma_of(sum_of(a, ones_like(a)))));
}

// The lower function divided by its factor (DLMF 8.7.1): 1 + x / (a + 1) + x^2 / (a + 1)(a + 2) +
// ...
DoubleDouble double_lower_series(const Array& a, const Array& x) {
  return sum_of_terms(pair_of(ones_like(a)), [&](const Array& n, const DoubleDouble& term) {
    return over(times(term, x), sum_of(a, n));
  });
}

// For small a, where the upper function is small: the lower one as x^a / gamma(a + 1) times 1 + a
// sum of (-x)^n / (n! (a + n)) (DLMF 8.7.3).
DoubleDouble lower_of_small(const Array& a, const Array& x, const Array& small) {
  struct Powers {
    Array n;
    DoubleDouble power, sum;
  };
  const Array zero = count_over(a);
  const DoubleDouble none = pair_of(zeros_like(a));
  const DoubleDouble s =
      while_loop(
          [](const Powers& p) {
            return any(abs(p.power.high) > 0x1p-70 * abs(p.sum.high)) & (p.n < kMostGammaTerms);
          },
          [&](const Powers& p) {
            const Array n = p.n + 1;
            const DoubleDouble power = over(times(p.power, -x), pair_of(ones_like(a) * n));
            return Powers{n, power, plus(p.sum, over(power, sum_of(a, n)))};
          },
          Powers{zero, pair_of(where(small, ones_like(a), 0.0)), none})
          .sum;
  const DoubleDouble power =
      exp_of(plus(times(log_of(pair_of(x)), a), minus(log_gamma_near_one(a))));
  return times(power, plus(times(s, a), ones_like(a)));
}

struct GammaFraction {
  Array n;
  DoubleDouble d, change, value;
};
// The upper function divided by x^a exp(-x) / gamma(a): the continued fraction of DLMF 8.9.2,
// evaluated forwards as a sum (J. Steed; Barnett and others, Comput. Phys. Commun. 8 (1974)).
DoubleDouble double_upper_fraction(const Array& a, const Array& x) {
  const Array one = ones_like(a), zero = count_over(a);
  const DoubleDouble start = plus(sum_of(x, one), -a), first = over(pair_of(one), start);
  return while_loop(
             [](const GammaFraction& f) {
               return any(abs(f.change.high) > kEnoughGamma * abs(f.value.high)) &
                      (f.n < kMostGammaTerms);
             },
             [&](const GammaFraction& f) {
               const Array n = f.n + 1;
               const DoubleDouble top = times(times(sum_of(a, -n), n), f.d);
               const DoubleDouble d = over(pair_of(one), plus(plus(start, 2 * n), top));
               const DoubleDouble change = minus(times(times(top, d), f.change));
               return GammaFraction{n, d, change, plus(f.value, change)};
             },
             GammaFraction{zero, first, first, first})
      .value;
}

// The part, or its complement to 1 if `turned`.
Array part_of_one(const DoubleDouble& part, const Array& turned) {
  return where(turned, rounded(plus(minus(part), ones_like(part.high))), rounded(part));
}

}  // namespace

Array detail::gamma_part(const Array& a, const Array& x, bool upper) {
  const Array valid = (a > 0) & (x > 0) & isfinite(x) & isfinite(a);
  const Array large = valid & (a > kLargeShape), usual = valid & !large;
  // For larger x the factors in double-double would overflow; nothing is left beyond it.
  const Array s = where(usual, a, 1.0), v = where(usual, minimum(x, 1e200), 1.0);
  const Array by_series = (v < s + 1) | (v < 2), small = by_series & (s < kSmallGammaShape);
  // Scaled by a power of two, so that subnormal results are not rounded twice.
  const DoubleDouble scale = pair_like(s, 44.3614195558365, 1.4841899608616317e-15);
  const DoubleDouble factor = exp_of(plus(log_factor(s, v), scale));
  const DoubleDouble lower = times(factor, double_lower_series(where(by_series & !small, s, 1.0),
                                                               where(by_series & !small, v, 0.0)));
  const DoubleDouble above = times(
      times(factor, s), double_upper_fraction(where(by_series, 1.0, s), where(by_series, 4.0, v)));
  const DoubleDouble scaled = times(chosen(by_series, lower, above), full_like(s, 0x1p-64));
  const DoubleDouble least =
      lower_of_small(where(small, s, kSmallGammaShape), where(small, v, 1.0), small);
  const DoubleDouble part = chosen(small, least, scaled);
  const Array r = where_any(
      large, [upper](const Array& a, const Array& x) { return large_gamma_part(a, x, upper); },
      part_of_one(part, upper ? by_series : !by_series), where(large, a, 2 * kLargeShape),
      where(large, x, 1.0));
  const double none = upper ? 0.0 : 1.0;  // the value when everything is below x
  const Array ends = where((x == v0::inf) & (a >= 0) & isfinite(a), none,
                           where((a == 0) & (x > 0), none, v0::nan));
  const Array infinite = where((a == v0::inf) & (x >= 0) & isfinite(x), 1 - none, ends);
  const Array start = where((x == 0) & (a > 0), 1 - none, infinite);
  return where(valid, r, start);
}

namespace {
// The derivative in x is the density; the one in a uses the sums in doubles.
Array incomplete_gamma(const Array& a, const Array& x, bool upper, bool narrow) {
  const auto value = [upper, narrow](Array a, Array x) {
    return narrow ? plain_gamma_part(a, x, upper, kEnoughForFloats) : gamma_part(a, x, upper);
  };
  return custom_jvp(value, [upper, narrow](Array a, Array x, Array da, Array dx) {
    const auto plain = [&](Array s) {
      return plain_gamma_part(s, stop_gradient(x), upper,
                              narrow ? kEnoughForFloats : kEnoughForDoubles);
    };
    const Array slope = jvp(plain, a, ones_like(a)).second;
    const Array inside = x > 0;
    const Array v = where(inside, x, 1.0);
    const Array limit = where(a < 1, v0::inf, where(a == 1, 1.0, 0.0));
    const Array density = where(inside, plain_gamma_factor(a, v) * a / v, limit);
    return std::pair(incomplete_gamma(a, x, upper, narrow),
                     (upper ? -density : density) * dx + slope * da);
  })(a, x);
}
}  // namespace

Array gammainc(Operand a, Operand x) {
  return in_float64("gammainc", {a, x}, [](In in, bool narrow) {
    return incomplete_gamma(in[0], in[1], false, narrow);
  });
}
Array gammaincc(Operand a, Operand x) {
  return in_float64("gammaincc", {a, x}, [](In in, bool narrow) {
    return incomplete_gamma(in[0], in[1], true, narrow);
  });
}
Array igamma(Operand a, Operand x) {
  const InFunction called("igamma", a.loc);
  return gammainc(std::move(a), std::move(x));
}
Array igammac(Operand a, Operand x) {
  const InFunction called("igammac", a.loc);
  return gammaincc(std::move(a), std::move(x));
}

}  // namespace tessera::inline v0
