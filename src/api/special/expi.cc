// The exponential integrals.
#include "api/special/double_double.h"

#include <tessera/control_flow.h>
#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::count_over;
using detail::DoubleDouble;
using detail::in_float64;
using detail::log_of;
using detail::over;
using detail::pair_like;
using detail::pair_of;
using detail::plus;
using detail::rounded;
using detail::series;

namespace {
using In = std::span<const Array>;

// 1 / n, and Euler's constant, in double-double.
DoubleDouble inverse_like(const Array& like, double n) {
  const double high = 1 / n;
  return pair_like(like, high, -std::fma(high, n, -1.0) * high);
}
DoubleDouble egamma_like(const Array& like) {
  return pair_like(like, 0.5772156649015329, -4.942915152430645e-18);
}

// A sum of narrow numbers ends when its terms are well below float32's last place. A kernel
// computes several terms, because reading and writing the carry takes as long as one term.
constexpr double kEnoughForFloats = 0x1p-32;
constexpr int kAtOnce = 8;

struct NarrowSum {
  Array n, term, sum;
};
Array narrow_by_powers(const Array& x) {
  const Array s = while_loop(
                      [](const NarrowSum& s) {
                        return any(abs(s.term) > kEnoughForFloats * abs(s.sum)) | (s.n < 2);
                      },
                      [&](NarrowSum s) {
                        for (int k = 0; k < kAtOnce; ++k) {
                          s.n = s.n + 1;
                          const Array inverse = 1 / s.n;
                          s.term = s.term * x * inverse;
                          s.sum = s.sum + s.term * inverse;
                        }
                        return s;
                      },
                      NarrowSum{count_over(x), ones_like(x), zeros_like(x)})
                      .sum;
  return std::numbers::egamma + log(abs(x)) + s;
}

struct SeriesSum {
  Array n;
  DoubleDouble term, sum;
};
// gamma + log |x| + sum of x^n / (n n!) (DLMF 6.6.1), in double-double, because the terms cancel
// near the zero and below it.
Array by_powers(const Array& x) {
  const DoubleDouble none = pair_of(zeros_like(x)), one = pair_of(ones_like(x));
  const DoubleDouble s = while_loop(
                             [](const SeriesSum& s) {
                               return any(abs(s.term.high) > 0x1p-60 * abs(s.sum.high)) | (s.n < 2);
                             },
                             [&](const SeriesSum& s) {
                               const Array n = s.n + 1, k = ones_like(s.sum.high) * n;
                               const DoubleDouble term = over(times(s.term, x), pair_of(k));
                               return SeriesSum{n, term, plus(s.sum, over(term, pair_of(k)))};
                             },
                             SeriesSum{count_over(x), one, none})
                             .sum;
  return rounded(plus(plus(log_of(pair_of(abs(x))), s), egamma_like(x)));
}
// -E1(-x) for x < -1 by the continued fraction (DLMF 6.9.1), evaluated from its end; 40 steps give
// a relative error of 2^-32.
Array narrow_by_fraction(const Array& x) {
  const Array z = -x;
  Array f = zeros_like(z);
  for (int k = 40; k > 0; --k) f = k / (1 + k / (z + f));
  return -exp(x) / (z + f);
}
Array by_fraction(const Array& x) {
  const Array z = -x;
  const Array f = fori_loop(
      0, 100,
      [&](Array n, Array f) {
        const Array k = astype(100 - n, DType::float64);
        return k / (1 + k / (z + f));
      },
      zeros_like(z));
  return -exp(x) / (z + f);
}
Array by_inverse_powers(const Array& x, int terms) {
  std::vector<double> c{1};
  for (int k = 1; k <= terms; ++k) c.push_back(c.back() * k);
  // Beyond 700 the exponential is split into two factors, because it overflows before the quotient
  // does.
  const Array far = x > 700, part = series(1 / x, c) / x;
  return where(far, (part * std::exp(2.0)) * exp(x - 2), part * exp(where(far, 1.0, x)));
}
Array expi_of(const Array& x, bool narrow) {
  const Array below = less(x, -1), at_zero = equal(x, 0);
  const Array above = greater(x, narrow ? 26 : 40);
  const Array tiny = abs(x) < 0x1p-900;
  const Array r = where(
      below, (narrow ? narrow_by_fraction : by_fraction)(where(below, x, -2.0)),
      where(above, by_inverse_powers(where(above, x, 50.0), narrow ? 24 : 38),
            where(tiny, std::numbers::egamma + log(abs(x)),
                  (narrow ? narrow_by_powers : by_powers)(where(below | above | tiny, 1.0, x)))));
  const Array ends = where(x == v0::inf, v0::inf, where(x == -v0::inf, 0.0, r));
  return where(at_zero, -v0::inf, where(isnan(x), x, ends));
}
}  // namespace

namespace {
Array differentiable_expi(const Array& x, bool narrow) {
  const auto value = [narrow](Array x) { return expi_of(x, narrow); };
  return custom_jvp(value,
                    [value](Array v, Array dv) { return std::pair(value(v), dv * exp(v) / v); })(x);
}

// The power series of expn up to 1, in double-double, because its terms cancel.
DoubleDouble expn_by_powers(std::int64_t n, const Array& inside) {
  const double order = static_cast<double>(n);
  DoubleDouble power = pair_of(ones_like(inside)), sum = pair_of(zeros_like(inside));
  for (int m = 0; m <= 20; ++m) {
    if (m > 0) power = times(times(power, -inside), inverse_like(inside, m));
    if (m == n - 1) {
      DoubleDouble psi = minus(egamma_like(inside));
      for (std::int64_t k = 1; k < n; ++k)
        psi = plus(psi, inverse_like(inside, static_cast<double>(k)));
      sum = plus(sum, times(power, plus(psi, minus(log_of(pair_of(inside))))));
    } else {
      sum = plus(sum, minus(times(power, inverse_like(inside, m - order + 1))));
    }
  }
  return sum;
}

// Up to 1, the power series (DLMF 8.19.8), in which the logarithm belongs to the one term that is
// otherwise undefined; beyond, the continued fraction (DLMF 8.19.17), evaluated from its end, whose
// error after k steps is exp(-4 sqrt(k)) at 1.
Array expn_value(std::int64_t n, const Array& x, bool narrow) {
  const double order = static_cast<double>(n);
  const Array small = x <= 1, inside = where(small & greater(x, 0), x, 0.5);
  const auto by_doubles = [&] {
    Array power = ones_like(x), sum = zeros_like(x);
    for (int m = 0; m <= 20; ++m) {
      if (m > 0) power = power * inside * (-1.0 / m);
      if (m == n - 1) {
        double psi = -std::numbers::egamma;
        for (std::int64_t k = 1; k < n; ++k) psi += 1.0 / static_cast<double>(k);
        sum = sum + power * (psi - log(inside));
      } else {
        sum = sum - power / (m - order + 1);
      }
    }
    return sum;
  };
  // The double-double logarithm does not support subnormal numbers.
  const Array normal = inside > 0x1p-1000;
  const Array sum =
      narrow ? by_doubles()
             : where(normal, rounded(expn_by_powers(n, where(normal, inside, 0.5))), by_doubles());
  const Array z = where(small, 2.0, minimum(x, 800));
  Array f = zeros_like(x);
  const auto step = [&](const Array& f, const auto& k) {
    return k * (k + (order - 1)) / (z + (2 * k + order) - f);
  };
  if (narrow)
    for (int k = 36; k > 0; --k) f = step(f, static_cast<double>(k));
  else
    f = fori_loop(
        0, 11,
        [&](Array i, Array f) {
          const Array last = 110 - 10 * astype(i, DType::float64);
          for (int k = 0; k < 10; ++k) f = step(f, last - k);
          return f;
        },
        f);
  const Array beyond = exp(-z) / (z + order - f);
  const Array at_zero = n > 1 ? full_like(x, 1 / (order - 1)) : full_like(x, v0::inf);
  const Array r = where(x == 0, at_zero, where(small, sum, where(x > 800, 0.0, beyond)));
  return where(less(x, 0) | isnan(x), v0::nan, r);
}
Array differentiable_expn(std::int64_t n, const Array& x, bool narrow) {
  if (n == 0) return where(less(x, 0), v0::nan, exp(-x) / x);
  const auto value = [n, narrow](Array x) { return expn_value(n, x, narrow); };
  return custom_jvp(value, [n, narrow](Array x, Array dx) {
    const Array slope = -differentiable_expn(n - 1, x, narrow);
    return std::pair(differentiable_expn(n, x, narrow), slope * dx);
  })(x);
}
}  // namespace

Array expi(Operand x) {
  return in_float64("expi", {x},
                    [](In in, bool narrow) { return differentiable_expi(in[0], narrow); });
}
Array exp1(Operand x) {
  return in_float64("exp1", {x}, [](In in, bool narrow) {
    const Array below = less(in[0], 0);
    return where(below, v0::nan, -differentiable_expi(-where(below, 1.0, in[0]), narrow));
  });
}
Array expn(std::int64_t n, Operand x) {
  if (n < 0 || n > 1000)
    Message("expn")
        .problem("the order is " + std::to_string(n))
        .rule("it is from 0 to 1000")
        .from(x.loc)
        .advice("write what comes first: expn(2, x)")
        .raise<Error>();
  return in_float64("expn", {x},
                    [n](In in, bool narrow) { return differentiable_expn(n, in[0], narrow); });
}

}  // namespace tessera::inline v0
