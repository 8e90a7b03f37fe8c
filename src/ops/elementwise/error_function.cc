// erf, erfc, erf_inv.
#include "base/erf_inv_polynomials.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tessera::inline v0::ops {

Value erf(Value x) { return x.builder->emit1("erf", {x}); }
Value erfc(Value x) { return x.builder->emit1("erfc", {x}); }
Value erf_inv(Value x) { return x.builder->emit1("erf_inv", {x}); }

namespace {

// Horner's rule without its last step.
template <class T, std::size_t N>
T before_last(const T (&c)[N], T w) {
  T p = c[0];
  for (std::size_t i = 1; i + 1 < N; ++i) p = c[i] + p * w;
  return p;
}

// The last step and the product with x are computed in a wider type; their rounding would otherwise
// be most of the error.
struct EvaluateErfInv {
  template <class Wide, class T, std::size_t N>
  static T last(const T (&c)[N], T w, T x, Wide rest = 0) {
    return static_cast<T>((c[N - 1] + (static_cast<Wide>(before_last(c, w)) * w + rest)) * x);
  }
  float operator()(float x) const {
    using namespace erf_inv_polynomials;
    float w = -std::log((1 - x) * (1 + x));
    if (std::fabs(x) == 1) return x * std::numeric_limits<float>::infinity();
    return w < 5 ? last<double>(kNear32, w - 2.5f, x) : last<double>(kFar32, std::sqrt(w) - 3, x);
  }
  double operator()(double x) const {
    using namespace erf_inv_polynomials;
    double w = -std::log((1 - x) * (1 + x));
    if (std::fabs(x) == 1) return x * std::numeric_limits<double>::infinity();
    using Wide = long double;
    if (w < 6.25) return last<Wide>(kNear64, w - 3.125, x, kNearRest64);
    return w < 16 ? last<Wide>(kMiddle64, std::sqrt(w) - 3.25, x)
                  : last<Wide>(kFar64, std::sqrt(w) - 5, x);
  }
};

// 2 / sqrt(pi) exp(-x^2)
Value gaussian(Value x) { return mul(like(x, 2 * std::numbers::inv_sqrtpi), exp(neg(mul(x, x)))); }

}  // namespace

void register_error_function(Registry& r) {
  Op erf = smooth_op(
      Arith::erf, "erf", "chlo.erf", "2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.", -2,
      2, [](auto x) { return std::erf(x); }, [](Value x, Value) { return gaussian(x); });
  Op erfc = smooth_op(
      Arith::erfc, "erfc", "chlo.erfc", "1 - erf(x), accurate for large x.", -2, 2,
      [](auto x) { return std::erfc(x); }, [](Value x, Value) { return neg(gaussian(x)); });
  Op erf_inv = smooth_op(Arith::erf_inv, "erf_inv", "chlo.erf_inv",
                         "The number whose erf is x, by Giles' polynomials; infinite at -1 and 1, "
                         "NaN outside.",
                         -0.9, 0.9, EvaluateErfInv{}, [](Value, Value y) {
                           return mul(like(y, 0.5 / std::numbers::inv_sqrtpi), exp(mul(y, y)));
                         });
  add_all(r, erf, erfc, erf_inv);
}

}  // namespace tessera::inline v0::ops
