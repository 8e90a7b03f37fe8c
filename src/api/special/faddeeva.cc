// The Faddeeva function.
#include "api/special/faddeeva.h"

#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

namespace detail {

Parts operator+(const Parts& z, const Parts& w) { return {z.re + w.re, z.im + w.im}; }
Parts operator-(const Parts& z, const Parts& w) { return {z.re - w.re, z.im - w.im}; }
Parts operator*(const Parts& z, const Parts& w) {
  return {z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re};
}
Parts operator*(const Array& x, const Parts& z) { return {x * z.re, x * z.im}; }
Parts operator/(const Parts& z, const Parts& w) {
  const Array square = w.re * w.re + w.im * w.im;
  return {(z.re * w.re + z.im * w.im) / square, (z.im * w.re - z.re * w.im) / square};
}
Parts chosen(const Array& condition, const Parts& z, const Parts& w) {
  return {where(condition, z.re, w.re), where(condition, z.im, w.im)};
}

Parts gaussian_of(const Array& x, const Array& y) {
  // Beyond 1e100, only the larger operand matters.
  const Array a = clip(x, -1e100, 1e100), b = clip(y, -1e100, 1e100);
  DoubleDouble power = plus(product_of(b, b), minus(product_of(a, a)));
  const Array wide = abs(x), tall = abs(y);
  power.high = where(less(wide, tall) & (tall > 1e100), 1e200,
                     where(less(tall, wide) & (wide > 1e100), -1e200, power.high));
  // If the product overflows, skip the rotation.
  const DoubleDouble angle = product_of(2 * clip(x, -1e290, 1e290), clip(y, -1e290, 1e290));
  const Array inside = abs(power.high) < 700;
  // Use two factors: if one part is small, the product may still be finite.
  const Array half = 0.5 * power.high, once = exp(half);
  const Array twice = once * (1 + where(inside, power.low, 0.0));
  const Array known = isfinite(angle.high) & isfinite(angle.low) & isfinite(x) & isfinite(y);
  const Array turn = where(known, angle.high, 0.0), rest = where(known, angle.low, 0.0);
  // From 1e15 on, `rest` is not a small angle.
  const Array c = cos(turn), s = sin(turn), along = cos(rest), across = sin(rest);
  const Array re = c * along - s * across, im = -(s * along + c * across);
  // Here 0 times infinity is 0.
  return {where(re == 0, 0.0, (re * once) * twice), where(im == 0, 0.0, (im * once) * twice)};
}

namespace {
constexpr int kPoints = 12;
const double kStep = std::sqrt(std::numbers::pi / kPoints);

// 2ihz / pi times the sum of exp(-t^2) / (z^2 - t^2) over t = (k + first) h.
Parts sampled(const Parts& z, const Parts& square, double first) {
  Parts sum{zeros_like(z.re), zeros_like(z.re)};
  // Add the smallest terms first.
  for (int k = kPoints - 1; k >= 0; --k) {
    const double t = (k + first) * kStep, weight = std::exp(-t * t);
    const Array re = square.re - t * t, size = re * re + square.im * square.im;
    const Array factor = weight / size;
    sum = {sum.re + factor * re, sum.im - factor * square.im};
  }
  const Parts r = z * sum;
  return {(-2 * kStep / std::numbers::pi) * r.im, (2 * kStep / std::numbers::pi) * r.re};
}

// i / (sqrt(pi) z) (1 + 1 / 2z^2 + 3 / 4z^4 + 15 / 8z^6), accurate from 1000 on; the parts are
// scaled.
Parts far_away(const Array& x, const Array& y) {
  const Array size = maximum(x, y), a = x / size, b = y / size, square = a * a + b * b;
  const Parts inverse{a / square / size, -b / square / size}, u = inverse * inverse;
  const Parts one{ones_like(x), zeros_like(x)};
  const Parts s = one + u * (0.5 * one + u * (0.75 * one + 1.875 * u));
  const Parts r = inverse * s;
  return {std::numbers::inv_sqrtpi * abs(r.im), std::numbers::inv_sqrtpi * r.re};
}
}  // namespace

Parts faddeeva_in_first_quadrant(const Array& x, const Array& y) {
  const Array ends = isinf(x) | isinf(y), far = maximum(x, y) > 1000;
  const Parts beyond = far_away(where(ends | !far, 2000.0, x), where(ends | !far, 2000.0, y));
  const Parts z{where(far, 1.0, x), where(far, 1.0, y)};
  const Parts square{(z.re - z.im) * (z.re + z.im), 2 * z.re * z.im};
  const Array places = z.re / kStep, part = places - floor(places);
  // Of the two rules, use the one whose points are farther away.
  const Array high = (z.im >= z.re) & (z.im >= std::numbers::pi / kStep);
  const Array whole = (!high) & (z.im < z.re) & (part >= 0.25) & (part <= 0.75);
  const Parts middle = sampled(z, square, 0.5), at = sampled(z, square, 1.0);
  // The rules' correction for the pole, 2 exp(-z^2) / (1 +- exp(-2 pi i z / h)), written with the
  // inverse exponential, which does not overflow.
  const Array angle = (2 * std::numbers::pi / kStep) * z.re;
  const Array fall = exp((-2 * std::numbers::pi / kStep) * z.im);
  const Array sign = where(whole, -1.0, 1.0);
  const Parts turned{fall * cos(angle), fall * sin(angle)};
  const Parts bottom{turned.re + sign, turned.im};
  const Parts lacking =
      2 * (gaussian_of(where(high, 30.0, z.re), where(high, 0.0, z.im)) * (turned / bottom));
  // The term at t = 0 of the rule with whole points.
  const Parts zero{zeros_like(x), full_like(x, kStep / std::numbers::pi)};
  const Parts origin = zero / chosen(whole, z, Parts{ones_like(x), zeros_like(x)});
  const Parts sum = chosen(whole, at + origin, middle);
  const Parts near = {sum.re + where(high, 0.0, lacking.re), sum.im + where(high, 0.0, lacking.im)};
  const Parts none{zeros_like(x), zeros_like(x)};
  return chosen(ends, none, chosen(far, beyond, near));
}

}  // namespace detail

using detail::composed1;
using detail::faddeeva_in_first_quadrant;
using detail::gaussian_of;
using detail::Parts;

namespace {
Array faddeeva(const Array& z) {
  const Array x = real(z), y = imag(z), unknown = isnan(x) | isnan(y);
  const Array a = where(unknown, 0.0, x), b = where(unknown, 0.0, y), lower = less(b, 0);
  const Parts first = faddeeva_in_first_quadrant(abs(a), abs(b));
  // w(-conj z) = conj w(z), and w(z) = 2 exp(-z^2) - w(-z).
  const Array left = less(where(lower, -a, a), 0);
  const Parts upper{first.re, where(left, -first.im, first.im)};
  const Parts twice = 2 * gaussian_of(a, where(lower, b, 0.0));
  const Parts r = chosen(lower, twice - upper, upper);
  return complex(where(unknown, v0::nan, r.re), where(unknown, v0::nan, r.im));
}

Array differentiable_faddeeva(const Array& z);
// 2i / sqrt(pi) - 2z w(z) in the upper half plane; far away, the series of the derivative, because
// these terms would cancel.
Array faddeeva_slope(const Array& z) {
  const Array lower = less(imag(z), 0), u = where(lower, -z, z);
  const Array far = (abs(u) > 10) & isfinite(u), at = where(far, u, 100.0), inverse = 1 / at;
  const Array square = inverse * inverse;
  std::vector<double> c{-1};
  for (int k = 1; k <= 16; ++k) c.push_back(c.back() * (2 * k + 1) / 2);
  Array sum = full_like(square, c.back());
  for (std::size_t k = c.size() - 1; k-- > 0;) sum = sum * square + c[k];
  const Array i = complex(zeros_like(real(z)), ones_like(real(z)));
  const Array beyond = i * std::numbers::inv_sqrtpi * square * sum;
  const Array near = where(far, 0.0, u);
  const Array upper = where(
      far, beyond, 2 * std::numbers::inv_sqrtpi * i - 2 * near * differentiable_faddeeva(near));
  const Array v = where(lower, z, 0.0);
  return where(lower, upper - 4 * v * exp(-v * v), upper);
}
Array differentiable_faddeeva(const Array& z) {
  return custom_jvp(faddeeva, [](Array z, Array dz) {
    return std::pair(differentiable_faddeeva(z), faddeeva_slope(z) * dz);
  })(z);
}
}  // namespace

Array wofz(Operand z) {
  return composed1("wofz", {z.array}, z.loc, [](std::span<const Array> in) {
    const Array whole = is_complex(in[0].dtype()) ? in[0] : complex(in[0], 0.0);
    return astype(differentiable_faddeeva(astype(whole, DType::complex128)), whole.dtype());
  });
}

}  // namespace tessera::inline v0
