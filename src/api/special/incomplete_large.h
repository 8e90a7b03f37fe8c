// The incomplete gamma and beta functions of parameters so large that their sums and continued
// fractions would take too many terms. In doubles, differentiable in everything.
#pragma once

#include "api/special/in_float64.h"

#include <tessera/control_flow.h>

#include <functional>

namespace tessera::inline v0::detail {

/// From here on: of a, or of the lesser of a and b.
inline constexpr double kLargeShape = 0x1p20;
/// The regularised functions of finite parameters above kLargeShape, of finite x > 0 and of x
/// between 0 and 1, to about 2^-43 of themselves.
Array large_gamma_part(const Array& a, const Array& x, bool upper);
Array large_beta_part(const Array& a, const Array& b, const Array& x);
/// x (1 - x) times the derivative of the second in x.
Array large_beta_density(const Array& a, const Array& b, const Array& x);

/// Which way betainc of valid operands goes: `large` where both parameters are above kLargeShape,
/// `limit` where the greater is so large that it is an incomplete gamma function of the other.
struct BetaCase {
  Array usual, large, limit;
};
BetaCase beta_case(const Array& a, const Array& b, const Array& valid);
/// betainc where an operand is at the end of its range: 0 or infinite, or 0 or 1; NaN beyond, and
/// where both parameters are at one end.
Array beta_at_the_ends(const Array& a, const Array& b, const Array& x);
/// The last of them, of `gamma_part(a, x, upper)`.
Array beta_by_gamma(const Array& a, const Array& b, const Array& x,
                    const std::function<Array(const Array&, const Array&, bool)>& gamma_part);

/// f(operands...) where the condition holds and r elsewhere; computed where any element asks for it.
/// The operands are safe everywhere.
template <class F, class... Operands>
Array where_any(const Array& condition, const F& f, const Array& r, const Operands&... operands) {
  const auto both = [&f](Array c, Array r, Operands... x) { return where(c, f(x...), r); };
  return cond(
      any(condition), both, [](Array, Array r, Operands...) { return r; }, condition, r,
      operands...);
}

}  // namespace tessera::inline v0::detail
