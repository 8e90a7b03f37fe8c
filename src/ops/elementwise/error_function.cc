// erf, erfc, erf_inv.
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

// M. Giles, "Approximating the erfinv function", GPU Computing Gems (2011): polynomials in w =
// -log(1 - x^2), shifted in each region, highest power first. The float32 ones are those that JAX
// evaluates, so normal samples agree with its. 1 - x^2 is (1 - x)(1 + x), whose error stays small
// near 1.
constexpr float kNear32[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                             -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                             -0.00417768164f,  0.246640727f,    1.50140941f};
constexpr float kFar32[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                            -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                            0.00943887047f,   1.00167406f,     2.83297682f};
constexpr double kNear64[] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
    1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
    6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
    2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
    4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
    0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
    0.24015818242558961693,     1.6536545626831027356};
constexpr double kMiddle64[] = {
    2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
    1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
    2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
    6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
    0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
    -0.0037512085075692412107, 0.005370914553590063617,   1.0052589676941592334,
    3.0838856104922207635};
constexpr double kFar64[] = {
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
    -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
    2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
    -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
    7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
    1.0103004648645343977,      4.8499064014085844221};

template <class T, std::size_t N>
T horner(const T (&c)[N], T w) {
  T p = c[0];
  for (std::size_t i = 1; i < N; ++i) p = c[i] + p * w;
  return p;
}

struct EvaluateErfInv {
  float operator()(float x) const {
    float w = -std::log((1 - x) * (1 + x));
    if (std::fabs(x) == 1) return x * std::numeric_limits<float>::infinity();
    return x * (w < 5 ? horner(kNear32, w - 2.5f) : horner(kFar32, std::sqrt(w) - 3));
  }
  double operator()(double x) const {
    double w = -std::log((1 - x) * (1 + x));
    if (std::fabs(x) == 1) return x * std::numeric_limits<double>::infinity();
    if (w < 6.25) return x * horner(kNear64, w - 3.125);
    return x * (w < 16 ? horner(kMiddle64, std::sqrt(w) - 3.25) : horner(kFar64, std::sqrt(w) - 5));
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
