// The exponential integral.
#include "api/numpy/pairs.h"

#include <tessera/control_flow.h>
#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using namespace detail;

namespace {
using In = std::span<const Array>;

// Terms of 1 / 32 and less of float32's last place end a sum of narrow numbers; several make a
// kernel, for a step by itself takes as long as its carry takes to be read and written.
constexpr double kEnoughForFloats = 0x1p-32;
constexpr int kAtOnce = 8;

struct NarrowSum {
  Array n, term, sum;
};
Array narrow_by_powers(const Array& x) {
  const Array s =
      while_loop(
          [](NarrowSum s) { return any(abs(s.term) > kEnoughForFloats * abs(s.sum)) | (s.n < 2); },
          [&](NarrowSum s) {
            for (int k = 0; k < kAtOnce; ++k) {
              s.n = s.n + 1;
              const Array inverse = 1 / s.n;
              s.term = s.term * x * inverse;
              s.sum = s.sum + s.term * inverse;
            }
            return s;
          },
          NarrowSum{sum(x) * 0, ones_like(x), zeros_like(x)})
          .sum;
  return std::numbers::egamma + log(abs(x)) + s;
}

struct Sum {
  Array n;
  Pair term, sum;
};
// gamma + log |x| + sum of x^n / (n n!) (DLMF 6.6.1), in pairs, for the terms cancel around the zero
// and below it.
Array by_powers(const Array& x) {
  const Pair none = pair_of(zeros_like(x)), one = pair_of(ones_like(x));
  const Pair s =
      while_loop(
          [](Sum s) { return any(abs(s.term.high) > 0x1p-60 * abs(s.sum.high)) | (s.n < 2); },
          [&](Sum s) {
            const Array n = s.n + 1, k = ones_like(s.sum.high) * n;
            const Pair term = over(times(s.term, x), pair_of(k));
            return Sum{n, term, plus(s.sum, over(term, pair_of(k)))};
          },
          Sum{sum(x) * 0, one, none})
          .sum;
  const Pair constant = pair_like(x, 0.5772156649015329, -4.942915152430645e-18);
  return rounded(plus(plus(log_of(pair_of(abs(x))), s), constant));
}
// -E1(-x) of x below -1 by the continued fraction (DLMF 6.9.1), from its end; after 40 steps it is
// within 2^-32.
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
  // Beyond 700 in two factors, for the exponential overflows before the quotient does.
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

Array expi(Operand x) {
  return in_doubles("expi", {x}, [](In in, bool narrow) {
    const auto value = [narrow](Array x) { return expi_of(x, narrow); };
    return custom_jvp(
        value, [value](Array v, Array dv) { return std::pair(value(v), dv * exp(v) / v); })(in[0]);
  });
}

}  // namespace tessera::inline v0
