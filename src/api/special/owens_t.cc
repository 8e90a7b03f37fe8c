// Owen's T function.
#include "api/special/double_double.h"
#include "api/special/gauss_nodes.h"

#include <tessera/arithmetic.h>
#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::DoubleDouble;
using detail::gauss_nodes;
using detail::in_float64;
using detail::Node;
using detail::product_of;

namespace {
using In = std::span<const Array>;

// The integral of exp(-h^2 t^2 / 2) / (1 + t^2) from 0 to a <= 1, divided by 2 pi. Beyond t = 8.8 /
// h the integrand is negligible. It is even, so the positive nodes suffice.
Array integral(const Array& h, const Array& a) {
  static const std::vector<Node> nodes = gauss_nodes(24);
  const Array end = where(h * a > 8.8, 8.8 / maximum(h, 1.0), a), reach = h * end;
  Array sum = zeros_like(h);
  for (const Node& n : nodes) {
    const Array t = n.at * end, s = n.at * reach;
    sum = sum + n.weight * exp(-0.5 * s * s) / (1 + t * t);
  }
  return sum * end * (0.5 * std::numbers::inv_pi);
}
// exp(-(h + rest)^2 / 2).
Array bell(const Array& h, const Array& rest) {
  const DoubleDouble square = product_of(h, h);
  const Array e = exp(-0.5 * square.high);
  return e - e * (0.5 * square.low + h * rest);
}
// For a <= 1, the integral; beyond, from both tails (D. B. Owen, Ann. Math. Statist. 27 (1956)):
// T(h, a) = (q(h) + q(ah)) / 2 - q(h) q(ah) - T(ah, 1 / a), with q(h) the upper tail.
Array owens_t_value(const Array& signed_h, const Array& signed_a) {
  const Array none = isnan(signed_h) | isnan(signed_a);
  // At h = 40 the result is below the smallest positive number.
  const Array h = minimum(where(none, 0.0, abs(signed_h)), 40.0);
  const Array a = where(none, 0.0, abs(signed_a)), steep = a > 1;
  const Array slope = where(steep, a, 1.0);
  const Array product = where(h == 0, 0.0, where(h == 0, 1.0, slope) * h);
  const Array inside = product < 40, other = where(inside, product, 40.0);
  const Array split = where(inside & (slope < 0x1p900), slope, 1.0);
  const Array rest = where(inside & steep, product_of(split, where(inside, h, 1.0)).low, 0.0);
  const Array at = where(steep, other, h), bent = bell(at, where(steep, rest, 0.0));
  const Array part = bent * integral(at, where(steep, 1 / slope, a));
  const Array tail = 0.5 * bell(h, zeros_like(h)) * erfcx(h * (std::numbers::sqrt2 / 2));
  const Array far_tail = 0.5 * bent * erfcx(other * (std::numbers::sqrt2 / 2));
  const Array whole = 0.5 * (tail + far_tail) - tail * far_tail - part;
  const Array r = where(steep, whole, part);
  return where(none, v0::nan, copysign(r, signed_a));
}

Array differentiable_owens_t(const Array& h, const Array& a) {
  return custom_jvp(owens_t_value, [](Array h, Array a, Array dh, Array da) {
    const Array square = h * h, width = 1 + a * a;
    const Array by_h = -exp(-0.5 * square) * erf(a * h * (std::numbers::sqrt2 / 2)) *
                       (std::numbers::inv_sqrtpi / (2 * std::numbers::sqrt2));
    const Array by_a = exp(-0.5 * width * square) / (2 * std::numbers::pi * width);
    return std::pair(differentiable_owens_t(h, a), by_h * dh + by_a * da);
  })(h, a);
}
}  // namespace

Array owens_t(Operand h, Operand a) {
  return in_float64("owens_t", {h, a}, [](In in) { return differentiable_owens_t(in[0], in[1]); });
}

}  // namespace tessera::inline v0
