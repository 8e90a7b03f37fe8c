// Modified Bessel functions and the zeta function.
#include "api/special/double_double.h"
#include "api/trace/composite.h"
#include "ops/elementwise/special.h"

#include <tessera/custom.h>

#include <cmath>

namespace tessera::inline v0 {

using detail::composite1;
using detail::in_float64;

namespace {
using In = std::span<const Array>;

using Part = Value (*)(Value, int);
Array scaled_part(const char* name, Part part, const Array& x, int order) {
  return composite1(name, {x}, SourceLoc(),
                    [&](Builder&, std::span<const Value> in) { return part(in[0], order); });
}
Array scaled(const Array& x, int order) {
  return scaled_part(order == 0 ? "i0e" : "i1e", ops::bessel_i_scaled, x, order);
}
// Below 3, the power series (DLMF 10.25.2); above, the scaled function times the exponential,
// rounded once. Beyond 600 the exponential is split into two factors, because it overflows before
// the product does.
Array unscaled(const Array& x, int order) {
  std::vector<double> powers{1};
  for (int k = 1; k <= 20; ++k) powers.push_back(powers.back() / (k * (k + order)));
  const Array size = abs(x), small = size < 3, inside = where(small, x, 1.0);
  const Array even = detail::series(0.25 * inside * inside, powers);
  const Array below = order == 0 ? even : 0.5 * inside * even;
  const Array end = size > 800, at = where(small | end, 3.0, size), far = at > 600;
  const Array rooted = scaled_part(order == 0 ? "i0" : "i1", ops::bessel_i_rooted, at, order);
  const Array root = sqrt(at);
  const detail::DoubleDouble square = detail::product_of(root, root);
  const detail::DoubleDouble bottom{root, ((at - square.high) - square.low) / (2 * root)};
  const detail::DoubleDouble top = detail::product_of(rooted, exp(where(far, at - 128, at)));
  const Array beyond =
      detail::rounded(detail::over(top, bottom)) * where(far, std::exp(128.0), 1.0);
  const Array r = where(end, v0::inf, beyond);
  return where(small, below, order == 1 ? where(x < 0, -r, r) : r);
}
Array i0_of(const Array& x);
Array i1_of(const Array& x) {
  const auto value = [](Array x) { return unscaled(x, 1); };
  return custom_jvp(value, [](Array x, Array dx) {
    const Array r = i1_of(x), ratio = where(x == 0, 0.5, r / where(x == 0, 1.0, x));
    return std::pair(r, (i0_of(x) - ratio) * dx);
  })(x);
}
Array i0_of(const Array& x) {
  const auto value = [](Array x) { return unscaled(x, 0); };
  return custom_jvp(value, [](Array x, Array dx) { return std::pair(i0_of(x), i1_of(x) * dx); })(x);
}
}  // namespace

Array i0(Operand x) {
  return in_float64("i0", {x}, [](In in) { return i0_of(in[0]); });
}
Array i0e(Operand x) {
  return in_float64("i0e", {x}, [](In in) { return scaled(in[0], 0); });
}
Array i1(Operand x) {
  return in_float64("i1", {x}, [](In in) { return i1_of(in[0]); });
}
Array i1e(Operand x) {
  return in_float64("i1e", {x}, [](In in) { return scaled(in[0], 1); });
}
Array zeta(Operand s, Operand q) {
  return in_float64("zeta", {s, q}, [](In in) {
    return composite1("zeta", in, SourceLoc(),
                      [](Builder&, std::span<const Value> v) { return ops::zeta(v[0], v[1]); });
  });
}

}  // namespace tessera::inline v0
