// exp(-|x|) I_n(x).
#include "ops/elementwise/bessel_tables.h"
#include "ops/elementwise/operators.h"
#include "ops/elementwise/special.h"

#include <limits>
#include <span>

namespace tessera::inline v0::ops {

using namespace operators;

namespace {
Value polynomial(Value x, std::span<const double> c) {
  Value r = full_like(x, c.back());
  for (std::size_t k = c.size() - 1; k-- > 0;) r = r * x + c[k];
  return r;
}
// The polynomial in t, to which 1 / x is mapped from [1 / hi, 1 / lo].
Value mapped_polynomial(Value inverse, double lo, double hi, std::span<const double> c) {
  const double first = 1 / hi, last = 1 / lo;
  return polynomial((inverse - (first + last) / 2) * (2 / (last - first)), c);
}
}  // namespace

Value bessel_i_rooted(Value x, int order) {
  using namespace bessel;
  const bool one = order == 1;
  const Value inverse = 1 / x;
  const double infinity = std::numeric_limits<double>::infinity();
  const Value middle =
      mapped_polynomial(inverse, 3, 8, one ? std::span(kMiddle1) : std::span(kMiddle0));
  const Value far = mapped_polynomial(inverse, 8, 20, one ? std::span(kFar1) : std::span(kFar0));
  const Value farthest =
      mapped_polynomial(inverse, 20, infinity, one ? std::span(kFarthest1) : std::span(kFarthest0));
  return select(lt(x, full_like(x, 8)), middle, select(lt(x, full_like(x, 20)), far, farthest));
}
Value bessel_i_scaled(Value x, int order) {
  using namespace bessel;
  const bool one = order == 1;
  const Value size = abs(x), near = lt(size, full_like(x, 3));
  const Value inside = select(near, size, full_like(x, 1));
  Value below = polynomial(inside - 1.5, one ? std::span(kNear1) : std::span(kNear0));
  if (one) below = below * inside;
  const Value outside = select(near, full_like(x, 3), size);
  const Value r = select(near, below, bessel_i_rooted(outside, order) / sqrt(outside));
  return one ? select(lt(x, zeros_like(x)), -r, r) : r;
}

}  // namespace tessera::inline v0::ops
