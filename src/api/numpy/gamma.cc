// The gamma and beta functions, and the multivariate gamma function.
#include "api/numpy/pairs.h"

#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using namespace detail;

namespace {
using In = std::span<const Array>;

// The exponential of its logarithm, below zero by reflection (DLMF 5.5.3): pi over the sine of pi x
// times gamma(1 - x), the last scaled so that what is subnormal is not rounded twice.
Array gamma_value(const Array& v) {
  const Array tiny = abs(v) < 0x1p-60, below = less(v, 0), pole = below & (v == floor(v));
  const Array usual = !tiny & !pole & greater(v, -200) & less(v, 200);
  const Array x = where(usual, v, 1.5), reflected = where(usual, below, false);
  const Pair mirror = sum_of(ones_like(x), -x);
  const Pair size = log_gamma_of(chosen(reflected, mirror, pair_of(x)));
  const Pair scale = pair_like(x, 44.3614195558365, 1.4841899608616317e-15);
  const Pair power = exp_of(chosen(reflected, plus(minus(size), scale), size));
  const Array nearest = round(x), rest = where(reflected, x - nearest, 0.5);
  const Pair angle = times(pair_like(x, 3.141592653589793, 1.2246467991473532e-16), rest);
  const Array odd = remainder(nearest, 2) != 0;
  const Array sine = sin(angle.high) + cos(angle.high) * angle.low;
  const Pair turned = times(power, pair_like(x, 3.141592653589793, 1.2246467991473532e-16));
  const Array quotient = rounded(turned) / where(odd, -sine, sine);
  const Array r = where(reflected, quotient * 0x1p-64, rounded(power));
  const Array far = where(greater(v, 0), v0::inf, where(isfinite(v), 0.0, v0::nan));
  return where(usual, r, where(pole | isnan(v), v0::nan, where(tiny, 1 / v, far)));
}
// The same in doubles: the logarithm is below 180, of which the exponential makes 2^-45 of itself.
Array narrow_gamma_value(const Array& v) {
  const Array tiny = abs(v) < 0x1p-60, below = less(v, 0), pole = below & (v == floor(v));
  const Array usual = !tiny & !pole & isfinite(v), x = where(usual, v, 1.5);
  const Array reflected = where(usual, below, false),
              size = exp(gammaln(where(reflected, 1 - x, x)));
  const Array nearest = round(x), rest = where(reflected, x - nearest, 0.5);
  const Array sine = sin(std::numbers::pi * rest), odd = remainder(nearest, 2) != 0;
  const Array r = where(reflected, std::numbers::pi / (where(odd, -sine, sine) * size), size);
  const Array far = where(v == v0::inf, v0::inf, v0::nan);
  return where(usual, r, where(tiny, 1 / v, far));
}
Array differentiable_gamma(const Array& x, bool narrow) {
  return custom_jvp(narrow ? narrow_gamma_value : gamma_value, [narrow](Array x, Array dx) {
    const Array r = differentiable_gamma(x, narrow);
    return std::pair(r, r * digamma(x) * dx);
  })(x);
}

template <class Number>
Array log_beta_value(const Array& a, const Array& b) {
  const Array usual = (a > 0x1p-900) & (b > 0x1p-900) & (a < 0x1p900) & (b < 0x1p900);
  const Array r = rounded(log_beta_of<Number>(where(usual, a, 1.0), where(usual, b, 1.0)));
  return where(usual, r, gammaln(a) + gammaln(b) - gammaln(a + b));
}
}  // namespace

Array gamma(Operand x) {
  return in_doubles("gamma", {x},
                    [](In in, bool narrow) { return differentiable_gamma(in[0], narrow); });
}
Array betaln(Operand a, Operand b) {
  return in_doubles("betaln", {a, b}, [](In in, bool narrow) {
    const auto value = narrow ? log_beta_value<Array> : log_beta_value<Pair>;
    return custom_jvp(value, [value](Array a, Array b, Array da, Array db) {
      const Array whole = digamma(a + b);
      return std::pair(value(stop_gradient(a), stop_gradient(b)),
                       (digamma(a) - whole) * da + (digamma(b) - whole) * db);
    })(in[0], in[1]);
  });
}
Array multigammaln(Operand a, std::int64_t d) {
  if (d < 1)
    Message("multigammaln")
        .problem("the dimension is " + std::to_string(d))
        .rule("it is 1 or more")
        .from(a.loc)
        .advice("of dimension 1 it is gammaln")
        .raise<Error>();
  return in_doubles("multigammaln", {a}, [&](In in) {
    const Array half = 0.5 * arange(d, DType::float64);
    const double constant = 0.25 * static_cast<double>(d * (d - 1)) * std::log(std::numbers::pi);
    return constant + sum(gammaln(expand_dims(in[0], -1) - half), -1);
  });
}

}  // namespace tessera::inline v0
