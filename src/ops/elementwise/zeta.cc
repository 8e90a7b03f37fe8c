// The Hurwitz zeta function.
#include "ops/elementwise/operators.h"
#include "ops/elementwise/special.h"

#include <limits>

namespace tessera::inline v0::ops {

using namespace operators;

namespace {
constexpr double kBernoulli[] = {  // B(2k) / (2k)!
    0.08333333333333333,   -0.001388888888888889,  3.306878306878307e-05,  -8.267195767195768e-07,
    2.08767569878681e-08,  -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
    8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18};
constexpr int kTerms = 16;

// q + k rounded, and its rounding error.
struct ShiftedArgument {
  Value value, lost;
};
ShiftedArgument shifted_argument(Value q, int k) {
  const Value a = q + k, part = a - q;
  return {a, stop_gradient((q - (a - part)) + (full_like(q, k) - part))};
}
}  // namespace

// The sum of the first terms, and the rest by the Euler-Maclaurin formula (DLMF 25.11.5, 2.10.1).
// The rounding error of each addition is compensated, and so is that of q + k, which enters a term
// s times.
Value zeta(Value s, Value q) {
  const Value one = full_like(s, 1), zero = zeros_like(s);
  const Value infinity = full_like(s, std::numeric_limits<double>::infinity());
  const Value defined = and_(gt(s, one), gt(q, zero));
  const Value e = select(defined, s, full_like(s, 2)), x = select(defined, q, one);
  const ShiftedArgument end = shifted_argument(x, kTerms);
  const Value a = end.value, last = pow(a, -e), inverse = 1 / a;
  const Value square = inverse * inverse;
  Value rest = zero, rising = e, power = inverse;
  for (int j = 0; j < 11; ++j) {
    rest = rest + kBernoulli[j] * rising * power;
    rising = rising * (e + (2 * j + 1)) * (e + (2 * j + 2));
    power = power * square;
  }
  rest = last * (a / (e - one) + (rest + 0.5));
  const Value none = or_(eq(e, infinity), eq(last, zero));
  Value r = select(none, zero, rest);
  Value lost = select(none, zero, end.lost * (last / (e - one) - rest * (e / a)));
  for (int k = kTerms; k-- > 0;) {
    const ShiftedArgument at = shifted_argument(x, k);
    const Value t = pow(at.value, -e), sum = r + t, part = sum - r;
    lost = lost + ((r - (sum - part)) + (t - part));
    // If s is infinite, each term is 0, 1 or infinite.
    if (k > 0) lost = lost - t * (select(eq(e, infinity), zero, e) * at.lost / at.value);
    r = sum;
  }
  r = select(is_finite(r), r + stop_gradient(lost), r);
  const Value pole = or_(eq(s, one), and_(gt(s, one), eq(q, zero)));
  const Value nan = full_like(s, std::numeric_limits<double>::quiet_NaN());
  // For large q the sum equals the integral of the terms, and q + k rounds to q.
  const Value far = gt(x, full_like(x, 0x1p60));
  const Value integral = pow(x, one - e) / (e - one);
  return select(defined, select(far, integral, r), select(pole, infinity, nan));
}

}  // namespace tessera::inline v0::ops
