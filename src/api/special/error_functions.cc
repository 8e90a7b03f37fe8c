// The scaled complementary error function, and Dawson's function.
#include "api/special/double_double.h"

#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::DoubleDouble;
using detail::in_float64;
using detail::pair_like;
using detail::product_of;
using detail::rounded;
using detail::series;
using detail::times;

namespace {
using In = std::span<const Array>;

// The asymptotic series 1 + sign / 2 x^2 + 3 / 4 x^4 + ... without its first term, for x >= 8, of
// erfcx (DLMF 7.12.1) and of Dawson's function.
Array tail_of_series(const Array& x, int sign) {
  std::vector<double> c{sign / 2.0};
  for (int k = 2; k <= 26; ++k) c.push_back(c.back() * sign * (2 * k - 1) / 2);
  const Array inverse = 1 / (x * x);
  return inverse * series(inverse, c);
}

// From 8 on, that series; below zero, the difference to twice the exponential.
Array erfcx_value(const Array& x) {
  const Array size = abs(x), far = size > 8, at = where(far, size, 8.0);
  const Array beyond = (1 + tail_of_series(at, -1)) * std::numbers::inv_sqrtpi / at;
  const Array inside = where(far, 1.0, size);
  const DoubleDouble square = product_of(inside, inside);
  const Array product = exp(square.high) * erfc(inside), near = product + product * square.low;
  const Array upper = where(far, beyond, near);
  const Array whole = maximum(x, -27.0);
  const DoubleDouble twice = product_of(whole, whole);
  const Array growth = 2 * exp(twice.high), lower = growth + (growth * twice.low - upper);
  const Array r = where(less(x, 0), where(less(x, -26.7), v0::inf, lower), upper);
  return where(isnan(x), x, r);
}
Array differentiable_erfcx(const Array& x) {
  return custom_jvp(erfcx_value, [](Array x, Array dx) {
    const Array r = differentiable_erfcx(x), far = x > 8;
    const Array above = tail_of_series(where(far, x, 8.0), -1), near = where(far, 1.0, x * r);
    const Array slope =
        where(far, above * std::numbers::inv_sqrtpi, near - std::numbers::inv_sqrtpi);
    return std::pair(r, 2 * slope * dx);
  })(x);
}

// Near zero, the power series (DLMF 7.6.2 and 7.5.1); then samples of the Gaussian at every other
// multiple of 1/4, exact to exp(-(2 pi)^2) (G. B. Rybicki, Computers in Physics 3 (1989)); far
// away, the asymptotic series.
Array dawsn_value(const Array& x) {
  const Array size = abs(x), near = size<0.5, far = size> 12;
  std::vector<double> powers{1};
  for (int k = 1; k <= 18; ++k) powers.push_back(powers.back() * -2 / (2 * k + 1));
  const Array small = where(near, x, 0.0), inside = where(near | far, 1.0, size);
  const Array at = where(far, where(isinf(size), 0x1p1000, size), 12.0);
  const Array below = small * series(small * small, powers);
  const Array beyond = 0.5 / at * (1 + tail_of_series(at, 1));
  constexpr double kStep = 0.25;
  const Array n = 2 * round(inside / (2 * kStep)), rest = inside - n * kStep;
  // Add the smallest terms first to limit rounding errors.
  Array sum = zeros_like(x);
  for (int k = 25; k >= 1; k -= 2) {
    const Array up = rest - k * kStep, down = rest + k * kStep;
    sum = sum + (exp(-up * up) / (n + k) + exp(-down * down) / (n - k));
  }
  const Array middle = rounded(times(pair_like(x, 0.5641895835477563, 7.66772980658294e-18), sum));
  const Array upper = where(far, where(isinf(size), 0.0, beyond), middle);
  return where(isnan(x), x, where(near, below, where(less(x, 0), -upper, upper)));
}
Array differentiable_dawsn(const Array& x) {
  return custom_jvp(dawsn_value, [](Array x, Array dx) {
    const Array r = differentiable_dawsn(x), far = abs(x) > 12;
    const Array beyond = -tail_of_series(where(far, x, 12.0), 1);
    return std::pair(r, where(far, beyond, 1 - 2 * x * r) * dx);
  })(x);
}
}  // namespace

Array erfcx(Operand x) {
  return in_float64("erfcx", {x}, [](In in) { return differentiable_erfcx(in[0]); });
}
Array dawsn(Operand x) {
  return in_float64("dawsn", {x}, [](In in) { return differentiable_dawsn(in[0]); });
}

}  // namespace tessera::inline v0
