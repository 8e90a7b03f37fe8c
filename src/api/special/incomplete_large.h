// The incomplete gamma and beta functions for parameters so large that sums and continued fractions
// would need too many terms. Computed in doubles; differentiable in all operands.
#pragma once

#include "api/special/in_float64.h"

#include <tessera/control_flow.h>

#include <functional>

namespace tessera::inline v0::detail {

/// Used above this value of a, or of the smaller of a and b.
inline constexpr double kLargeShape = 0x1p20;
/// The regularised functions for finite parameters above kLargeShape, and finite x > 0 (gamma) or 0
/// < x < 1 (beta). The relative error is about 2^-43.
Array large_gamma_part(const Array& a, const Array& x, bool upper);
Array large_beta_part(const Array& a, const Array& b, const Array& x);
/// x (1 - x) times the derivative of large_beta_part in x.
Array large_beta_density(const Array& a, const Array& b, const Array& x);

/// The method for betainc of valid operands: `large` if both parameters exceed kLargeShape, `limit`
/// if the larger one is so large that the result is an incomplete gamma function of the other.
struct BetaCase {
  Array usual, large, limit;
};
BetaCase beta_case(const Array& a, const Array& b, const Array& valid);
/// betainc for an operand at an end of its range: a or b is 0 or infinite, or x is 0 or 1. NaN out
/// of range, and if both parameters are at the same end.
Array beta_at_the_ends(const Array& a, const Array& b, const Array& x);
/// The `limit` case, in terms of `gamma_part(a, x, upper)`.
Array beta_by_gamma(const Array& a, const Array& b, const Array& x,
                    const std::function<Array(const Array&, const Array&, bool)>& gamma_part);

/// f(operands...) where the condition holds, r elsewhere; f is computed only if any element needs
/// it, then on all elements, so the operands must be valid everywhere.
template <class F, class... Operands>
Array where_any(const Array& condition, const F& f, const Array& r, const Operands&... operands) {
  const auto both = [&f](Array c, Array r, Operands... x) { return where(c, f(x...), r); };
  return cond(
      any(condition), both, [](Array, Array r, Operands...) { return r; }, condition, r,
      operands...);
}

}  // namespace tessera::inline v0::detail
