// The regularised incomplete beta function: a continued fraction in double-double.
#include "api/special/double_double.h"
#include "api/special/incomplete_double_double.h"
#include "api/special/incomplete_large.h"
#include "api/special/incomplete_plain.h"

#include <tessera/control_flow.h>
#include <tessera/custom.h>
#include <tessera/grad.h>

namespace tessera::inline v0 {

using detail::beta_at_the_ends;
using detail::beta_by_gamma;
using detail::beta_case;
using detail::count_over;
using detail::DoubleDouble;
using detail::gamma_part;
using detail::in_float64;
using detail::kEnoughForDoubles;
using detail::kEnoughForFloats;
using detail::kLargeShape;
using detail::large_beta_part;
using detail::log_beta_of;
using detail::log_of;
using detail::minus;
using detail::pair_like;
using detail::pair_of;
using detail::plain_beta_density;
using detail::plain_beta_part;
using detail::plus;
using detail::rounded;
using detail::sum_of;
using detail::times;
using detail::where_any;

namespace {
using In = std::span<const Array>;
constexpr double kEnoughBeta = 0x1p-60;
constexpr int kMostBetaTerms = 20000;

struct BetaFraction {
  Array n;
  DoubleDouble d, change, value;
};
// The next convergent of 1 / (1 + top / (1 + ...)), accumulated as a sum (J. Steed; Barnett and
// others, Comput. Phys. Commun. 8 (1974)).
BetaFraction beta_stepped(const BetaFraction& f, const DoubleDouble& top) {
  const Array one = ones_like(f.d.high);
  const DoubleDouble below = times(top, f.d), d = over(pair_of(one), plus(below, one));
  const DoubleDouble change = minus(times(times(below, d), f.change));
  return {f.n, d, change, plus(f.value, change)};
}
// The continued fraction of DLMF 8.17.22, two steps at a time.
DoubleDouble double_beta_fraction(const DoubleDouble& a, const DoubleDouble& b,
                                  const DoubleDouble& x) {
  const Array one = ones_like(a.high), zero = count_over(a.high);
  const DoubleDouble whole = plus(a, b);
  const DoubleDouble odd = minus(over(times(whole, x), plus(a, one)));
  const BetaFraction start = beta_stepped({zero, pair_of(one), pair_of(one), pair_of(one)}, odd);
  return while_loop(
             [](const BetaFraction& f) {
               return any(abs(f.change.high) > kEnoughBeta * abs(f.value.high)) &
                      (f.n < kMostBetaTerms);
             },
             [&](BetaFraction f) {
               const Array n = f.n + 1;
               const DoubleDouble twice = plus(a, 2 * n);
               const DoubleDouble even = times(times(plus(b, -n), n), x);
               f = beta_stepped(f, over(even, times(twice, plus(twice, -one))));
               const DoubleDouble odd = minus(times(times(plus(a, n), plus(whole, n)), x));
               f = beta_stepped(f, over(odd, times(twice, plus(twice, one))));
               f.n = n;
               return f;
             },
             start)
      .value;
}

Array beta_part(const Array& a, const Array& b, const Array& x) {
  const Array valid = (a > 0) & (b > 0) & (x > 0) & (x < 1) & isfinite(a) & isfinite(b);
  const auto [usual, large, limit] = beta_case(a, b, valid);
  const Array p = where(usual, a, 1.0), q = where(usual, b, 1.0), v = where(usual, x, 0.5);
  // For a tiny b, the complement would be everything except the requested part.
  const Array turned = (v > (p + 1) / (p + q + 2)) & (q > 0x1p-30);
  const DoubleDouble rest = sum_of(ones_like(v), -v);
  const Array s = where(turned, q, p), t = where(turned, p, q);
  const DoubleDouble w = chosen(turned, rest, pair_of(v));
  // x^a (1 - x)^b / B(a, b), scaled so that subnormal results are not rounded twice.
  DoubleDouble exponent = plus(times(log_of(pair_of(v)), p), times(log_of(rest), q));
  exponent = plus(exponent, minus(log_beta_of<DoubleDouble>(p, q)));
  exponent = plus(exponent, pair_like(s, 44.3614195558365, 1.4841899608616317e-15));
  const DoubleDouble factor = times(over(exp_of(exponent), pair_of(s)), full_like(s, 0x1p-64));
  const DoubleDouble part = times(factor, double_beta_fraction(pair_of(s), pair_of(t), w));
  Array r = where(turned, rounded(plus(minus(part), ones_like(s))), rounded(part));
  r = where_any(large, large_beta_part, r, where(large, a, 2 * kLargeShape),
                where(large, b, 2 * kLargeShape), where(large, x, 0.5));
  const auto by_gamma = [](const Array& a, const Array& b, const Array& x) {
    return beta_by_gamma(a, b, x, gamma_part);
  };
  r = where_any(limit, by_gamma, r, where(limit, a, 1.0), where(limit, b, 1e31),
                where(limit, x, 0.5));
  return where(valid, clip(r, 0.0, 1.0), beta_at_the_ends(a, b, x));
}

// The derivative in x is the density; the derivatives in a and b use the sums in doubles.
Array incomplete_beta(const Array& a, const Array& b, const Array& x, bool narrow) {
  const double enough = narrow ? kEnoughForFloats : kEnoughForDoubles;
  const auto value = [=](Array a, Array b, Array x) {
    return narrow ? plain_beta_part(a, b, x, enough) : beta_part(a, b, x);
  };
  const auto tangent = [=](Array a, Array b, Array x, Array da, Array db, Array dx) {
    const Array p = stop_gradient(a), q = stop_gradient(b), at = stop_gradient(x);
    const auto of_a = [&](Array s) { return plain_beta_part(s, q, at, enough); };
    const auto of_b = [&](Array s) { return plain_beta_part(p, s, at, enough); };
    const Array in_a = jvp(of_a, a, ones_like(a)).second;
    const Array in_b = jvp(of_b, b, ones_like(b)).second;
    return std::pair(incomplete_beta(a, b, x, narrow),
                     plain_beta_density(a, b, x) * dx + in_a * da + in_b * db);
  };
  return custom_jvp(value, tangent)(a, b, x);
}
}  // namespace

Array betainc(Operand a, Operand b, Operand x) {
  return in_float64("betainc", {a, b, x}, [](In in, bool narrow) {
    return incomplete_beta(in[0], in[1], in[2], narrow);
  });
}

}  // namespace tessera::inline v0
