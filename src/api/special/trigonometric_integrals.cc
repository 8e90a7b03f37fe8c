// The sine and cosine integrals, and the Fresnel integrals.
#include "api/special/faddeeva.h"

#include <tessera/arithmetic.h>
#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::constant_as;
using detail::DoubleDouble;
using detail::faddeeva_in_first_quadrant;
using detail::head;
using detail::log_of;
using detail::minus;
using detail::number_of;
using detail::pair_of;
using detail::Parts;
using detail::plus;
using detail::product_of;
using detail::rounded;
using detail::series;
using detail::several_in_float64;
using detail::times;

namespace {
using In = std::span<const Array>;
using IntegralPair = std::pair<Array, Array>;

// The sum of (-1)^k square^k / ((2k + first) (2k + first)!) over k from 0 on. The first terms are
// Numbers, because they cancel near the zeros of the cosine integral; the others are small compared
// with them.
template <class Number>
Number powers_over_factorials(const Number& square, int first) {
  constexpr int kHeads = 9, kTerms = 26;
  std::vector<double> bottoms;
  double factorial = 1;
  for (int k = 0; k < kTerms; ++k) {
    const int n = 2 * k + first;
    if (k > 0) factorial *= n * (n - 1.0);
    if (k == 0) factorial = first == 2 ? 2 : 1;
    bottoms.push_back((k % 2 ? -1.0 : 1.0) * n * factorial);
  }
  std::vector<double> tail;
  for (int k = kHeads; k < kTerms; ++k) tail.push_back(1 / bottoms[static_cast<std::size_t>(k)]);
  Number sum = number_of<Number>(series(head(square), tail));
  // The denominators are exact here: their odd parts are below 2^53.
  for (int k = kHeads - 1; k >= 0; --k) {
    const double n = bottoms[static_cast<std::size_t>(k)], high = 1 / n;
    const double low = -std::fma(high, n, -1.0) * high;
    sum = plus(constant_as<Number>(head(square), high, low), times(sum, square));
  }
  return sum;
}
template <class Number>
Number square_as(const Array& x) {
  if constexpr (std::is_same_v<Number, DoubleDouble>)
    return product_of(x, x);
  else
    return x * x;
}
template <class Number>
IntegralPair integrals_by_powers(const Array& x) {
  const Number square = square_as<Number>(x);
  const Array si = rounded(times(powers_over_factorials(square, 1), x));
  const Number even = minus(times(powers_over_factorials(square, 2), square));
  Number ci = plus(even, constant_as<Number>(x, 0.5772156649015329, -4.942915152430645e-18));
  if constexpr (std::is_same_v<Number, DoubleDouble>)
    ci = plus(ci, log_of(pair_of(x)));
  else
    ci = ci + log(x);
  return {si, rounded(ci)};
}
// E1(ix) = exp(-ix) / (1 + ix - 1 / (3 + ix - 4 / (5 + ix - ...))) = -Ci(x) + i (Si(x) - pi / 2),
// for x from 4 to 1e17; after k steps the error is exp(-4 sqrt(k x)).
IntegralPair integrals_by_fraction(const Array& x) {
  constexpr int kSteps = 56;
  Parts f{full_like(x, 2 * kSteps + 1), x};
  for (int k = kSteps; k > 0; --k) {
    const Array factor = (1.0 * k * k) / (f.re * f.re + f.im * f.im);
    f = {(2 * k - 1) - factor * f.re, x + factor * f.im};
  }
  const Array size = f.re * f.re + f.im * f.im, re = f.re / size, im = -f.im / size;
  const Array c = cos(x), s = sin(x);
  return {std::numbers::pi / 2 + (c * im - s * re), -(c * re + s * im)};
}
IntegralPair sici_value(const Array& x, bool narrow) {
  const Array size = abs(x), small = size <= 4, far = size > 1e17, end = isinf(size);
  const Array tiny = size < 0x1p-500;
  const Array in_series = where(small & !tiny, size, 1.0), beyond = where(small | far, 8.0, size);
  const IntegralPair near =
      narrow ? integrals_by_powers<Array>(in_series) : integrals_by_powers<DoubleDouble>(in_series);
  const IntegralPair middle = integrals_by_fraction(beyond);
  const Array out = where(far & !end, size, 0x1p60), none = isnan(x);
  // For large x the fraction equals its first term.
  const Array last_si = std::numbers::pi / 2 - where(end, 0.0, cos(out) / out);
  const Array last_ci = where(end, 0.0, sin(out) / out);
  const Array si = where(small, near.first, where(far, last_si, middle.first));
  const Array ci = where(small, near.second, where(far, last_ci, middle.second));
  const Array lowest =
      where(size == 0, -v0::inf, std::numbers::egamma + log(where(size == 0, 1.0, size)));
  return {where(none | tiny, x, where(less(x, 0), -si, si)),
          where(none | (x == -v0::inf), v0::nan, where(tiny, lowest, ci))};
}

// The sine and cosine of pi x^2 / 2, from the square modulo 4 including its rounding error.
IntegralPair turns_of_square(const Array& x) {
  const Array inside = abs(x) < 1e100;
  const DoubleDouble square = product_of(where(inside, x, 0.0), where(inside, x, 0.0));
  const Array whole = fmod(square.high, 4.0), nearest = round(whole);
  const Array rest = (whole - nearest) + square.low;
  const Array angle = (std::numbers::pi / 2) * rest, c = cos(angle), s = sin(angle);
  const Array quarter = remainder(nearest, 4.0), odd = remainder(quarter, 2.0) == 1;
  const Array sine = where(odd, c, s), cosine = where(odd, s, c);
  const Array ends = where(isinf(x) | isnan(x), v0::nan, 0.0);
  return {where(quarter >= 2, -sine, sine) + ends,
          where((quarter == 1) | (quarter == 2), -cosine, cosine) + ends};
}
IntegralPair fresnel_value(const Array& x) {
  const Array size = abs(x), small = size<1.0, far = size> 1e16;
  const Array inside = where(small, size, 0.5), square = inside * inside;
  const Array fourth = square * square * (std::numbers::pi * std::numbers::pi / 4);
  std::vector<double> of_s, of_c;
  double factorial = 1;
  for (int k = 0; k < 12; ++k) {
    const double sign = k % 2 ? -1 : 1;
    if (k > 0) factorial *= (2.0 * k - 1) * (2.0 * k);
    of_c.push_back(sign / (factorial * (4 * k + 1)));
    of_s.push_back(sign / (factorial * (2 * k + 1) * (4 * k + 3)));
  }
  const Array near_c = inside * series(fourth, of_c);
  const Array near_s = inside * square * (std::numbers::pi / 2) * series(fourth, of_s);
  // C + iS = (1 + i) / 2 (1 - exp(pi i x^2 / 2) w((1 + i) sqrt(pi) x / 2)).
  const Array at = where(small | far | isnan(size), 2.0, size);
  const Array turned = at * (std::sqrt(std::numbers::pi) / 2);
  const Parts w = faddeeva_in_first_quadrant(turned, turned);
  const auto [sine, cosine] = turns_of_square(at);
  const Array f = 0.5 * (w.re + w.im), g = 0.5 * (w.re - w.im);
  const Array s = 0.5 - (f * cosine + g * sine), c = 0.5 + (f * sine - g * cosine);
  const auto whole = [&](const Array& near, const Array& beyond) {
    const Array r = where(small, near, where(far, 0.5, beyond));
    return where(isnan(x), x, where(less(x, 0), -r, r));
  };
  // S of an x whose cube underflows is a zero with the sign of x.
  return {where(size == 0, x, whole(near_s, s)), where(size == 0, x, whole(near_c, c))};
}

IntegralPair differentiable_sici(const Array& x, bool narrow) {
  const auto value = [narrow](Array x) { return sici_value(x, narrow); };
  return custom_jvp(value, [narrow](Array x, Array dx) {
    const Array slope = where(x == 0, 1.0, sin(x) / where(x == 0, 1.0, x));
    return std::pair(differentiable_sici(x, narrow), IntegralPair(slope * dx, cos(x) / x * dx));
  })(x);
}
IntegralPair differentiable_fresnel(const Array& x) {
  return custom_jvp(fresnel_value, [](Array x, Array dx) {
    const auto [sine, cosine] = turns_of_square(x);
    return std::pair(differentiable_fresnel(x), IntegralPair(sine * dx, cosine * dx));
  })(x);
}
}  // namespace

std::pair<Array, Array> sici(Operand x) {
  const std::vector<Array> r = several_in_float64("sici", {x}, [](In in, bool narrow) {
    const IntegralPair both = differentiable_sici(in[0], narrow);
    return std::vector<Array>{both.first, both.second};
  });
  return {r[0], r[1]};
}
std::pair<Array, Array> fresnel(Operand x) {
  const std::vector<Array> r = several_in_float64("fresnel", {x}, [](In in, bool) {
    const IntegralPair both = differentiable_fresnel(in[0]);
    return std::vector<Array>{both.first, both.second};
  });
  return {r[0], r[1]};
}

}  // namespace tessera::inline v0
