// The dilogarithm, and the Bernoulli numbers.
#include "api/special/double_double.h"

#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::chosen;
using detail::DoubleDouble;
using detail::in_float64;
using detail::minus;
using detail::pair_like;
using detail::pair_of;
using detail::plus;
using detail::product_of;
using detail::rounded;
using detail::series;

namespace {
using In = std::span<const Array>;

// B_2k / (2k + 1)!, the coefficients of the power series of the dilogarithm in u = -log(1 - x) (L.
// Lewin, "Polylogarithms and Associated Functions", 1981).
constexpr double kBernoulli[] = {1.0 / 36,
                                 -1.0 / 3600,
                                 1.0 / 211680,
                                 -1.0 / 10886400,
                                 1.0 / 526901760,
                                 -691.0 / 16999766784000,
                                 1.0 / 1120863744000,
                                 -3617.0 / 181400588328960000,
                                 43867.0 / 97072790126247936000.0};
// Uses the series of kBernoulli near 1, and reflection and inversion (DLMF 25.12.4, 25.12.6)
// elsewhere. Their terms cancel, so they are added in double-double.
Array spence_value(const Array& x) {
  const Array valid = x >= 0, positive = greater(x, 0) & isfinite(x), v = where(positive, x, 1.0);
  const Array large = v > 2, inner = where(large, 1 / v, v), small = inner < 0.5;
  const Array part = where(small, inner, 0.25), rest = log1p(-part);
  const Array u = -where(small, rest, log(where(small, 1.0, inner)));
  const Array s = u * (1 - 0.25 * u + u * u * series(u * u, kBernoulli));
  constexpr double end = std::numbers::pi * std::numbers::pi / 6;
  const DoubleDouble reflected = plus(pair_like(x, end, 3.040672350398476e-17), -s);
  const DoubleDouble turned =
      chosen(small, plus(reflected, minus(product_of(log(part), rest))), pair_of(s));
  const Array outer = log(v);
  const DoubleDouble inverted = minus(plus(product_of(0.5 * outer, outer), turned));
  const Array r = rounded(chosen(large, inverted, turned));
  const Array ends = where(x == 0, end, where(valid, -v0::inf, v0::nan));
  return where(positive, r, ends);
}
Array spence_slope(const Array& x) {
  const Array off = x - 1, near = abs(off) < 1e-3, inside = where(near, off, 0.0);
  const double c[] = {-1, 0.5, -1.0 / 3, 0.25, -0.2, 1.0 / 6};
  return where(near, series(inside, c), log(x) / (1 - where(near, 0.0, x)));
}
Array differentiable_spence(const Array& x) {
  return custom_jvp(spence_value, [](Array x, Array dx) {
    return std::pair(differentiable_spence(x), spence_slope(x) * dx);
  })(x);
}
}  // namespace

Array spence(Operand x) {
  return in_float64("spence", {x}, [](In in) { return differentiable_spence(in[0]); });
}

namespace {
// B_2k = (-1)^(k + 1) 2 (2k)! zeta(2k) / (2 pi)^2k (DLMF 25.6.2).
template <class T>
Array bernoulli_numbers(std::int64_t n) {
  std::vector<T> b(static_cast<std::size_t>(n) + 1, T(0));
  b[0] = 1;
  if (n >= 1) b[1] = T(-0.5);
  constexpr long double kTwoPi = 2 * std::numbers::pi_v<long double>;
  long double factor = 2;
  for (std::int64_t k = 1; 2 * k <= n; ++k) {
    const auto order = static_cast<long double>(2 * k);
    factor *= order * (order - 1) / (kTwoPi * kTwoPi);
    const long double size = factor * std::riemann_zeta(order);
    b[static_cast<std::size_t>(2 * k)] = static_cast<T>(k % 2 ? size : -size);
  }
  return Array(b, {n + 1});
}
}  // namespace

Array bernoulli(std::int64_t n, DType dtype, std::source_location loc) {
  if (n < 0 || n > 10000)
    Message("bernoulli")
        .problem("the last one's number is " + std::to_string(n))
        .rule("it is from 0 to 10000")
        .from(loc)
        .advice("bernoulli(8) are the first nine")
        .raise<Error>();
  if (!is_floating(dtype))
    Message("bernoulli")
        .problem("the dtype is " + std::string(name_of(dtype)))
        .rule("the numbers are fractions: float16, bfloat16, float32 or float64")
        .from(loc)
        .advice("bernoulli(8, ts::f64)")
        .raise<DTypeError>();
  if (dtype == DType::float32) return bernoulli_numbers<float>(n);
  return bernoulli_numbers<double>(n).astype(dtype, loc);
}

}  // namespace tessera::inline v0
