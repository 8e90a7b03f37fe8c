// The functions that are measured, each with its definition in a wider type.
#include "measure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace accuracy {

namespace ts = tessera;

namespace {

template <class F, class E>
Function unary(std::string name, F computed, E exact, std::string tails) {
  return {std::move(name),
          1,
          [computed](const Array& x, const Array&) { return computed(x); },
          [exact](double x, double) { return exact(x); },
          [exact](long double x, long double) { return exact(x); },
          std::move(tails)};
}
template <class F, class E>
Function binary(std::string name, F computed, E exact, std::string tails) {
  return {std::move(name),
          2,
          [computed](const Array& x, const Array& y) { return computed(x, y); },
          [exact](double x, double y) { return exact(x, y); },
          [exact](long double x, long double y) { return exact(x, y); },
          std::move(tails)};
}

template <class T>
constexpr T kPi = std::numbers::pi_v<T>;

// Newton's method on erfc, which keeps the significant digits near 1, from Winitzki's estimate.
template <class T>
T erf_inv(T x) {
  T a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(T(INFINITY), x) : T(NAN);
  if (a == 0) return x;
  T l = std::log1p(-a) + std::log1p(a), k = T(0.147);
  T b = 2 / (kPi<T> * k) + l / 2;
  T y = std::sqrt(std::sqrt(b * b - l / k) - b);
  if (a < T(1e-6)) y = a * std::sqrt(kPi<T>) / 2;
  for (int i = 0; i < 6; ++i) {
    T off = a < T(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    T step = off / (2 / std::sqrt(kPi<T>) * std::exp(-y * y));
    y -= step / (1 + y * step);  // Halley's method
  }
  return std::copysign(y, x);
}

template <class T>
T log_sigmoid(T x) {
  return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x));
}
template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
T times_sigmoid(T x, T of) {
  return x == -T(INFINITY) ? T(-0.0) : x * sigmoid(of);
}
template <class T>
T gelu(T x) {
  return x == -T(INFINITY) ? T(-0.0) : x / 2 * std::erfc(-x / std::numbers::sqrt2_v<T>);
}
template <class T>
T gelu_tanh(T x) {
  return times_sigmoid(x, 2 * std::sqrt(2 / kPi<T>) * (x + T(0.044715L) * x * x * x));
}
template <class T>
T logaddexp(T x, T y) {
  if (x == y) return x + std::numbers::ln2_v<T>;
  T m = std::fmax(x, y);
  return x != x || y != y ? x + y : m + std::log1p(std::exp(std::fmin(x, y) - m));
}
template <class T>
T remainder(T x, T y) {
  T r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

template <class T>
T sinc(T x) {  // reduces the angle before multiplying by pi
  if (x == 0) return 1;
  const T rest = std::fmod(x, T(2)), nearest = std::nearbyint(rest);
  const T sine = std::sin(kPi<T> * (rest - nearest));
  return (std::fabs(nearest) == 1 ? -sine : sine) / kPi<T> / x;
}
template <class T>
T mish(T x) {
  return x == -T(INFINITY) ? T(-0.0) : x * std::tanh(-log_sigmoid(-x));
}
template <class T>
T squareplus(T x) {
  const T size = std::hypot(x, T(2));
  return x < 0 ? 2 / (size - x) : (x + size) / 2;
}
// floor(x / y), computed from the remainder, which is exact; zeros have the sign of y.
template <class T>
T floor_divide(T x, T y) {
  if (y == 0) return x / y;
  const T rest = std::fmod(x, y), whole = (x - rest) / y;
  return std::nearbyint(rest != 0 && (rest < 0) != (y < 0) ? whole - 1 : whole);
}
// The exponents given to ldexp: whole numbers of magnitude below 2000.
template <class T>
int exponent_of(T y) {
  return std::isnan(y) ? 0 : static_cast<int>(std::clamp(y, T(-2000), T(2000)));
}
Array exponents_of(const Array& y) {
  const Array wide = ts::astype(y, DType::float64);
  return ts::astype(ts::clip(ts::where(ts::isnan(wide), 0, wide), -2000, 2000), DType::int32);
}

}  // namespace

#define TESSERA_STD(name, std_name, tails)                                                        \
  unary(                                                                                          \
      #name, [](const Array& x) { return ts::name(x); }, [](auto x) { return std::std_name(x); }, \
      tails)

const std::vector<Function>& functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> list = {
        TESSERA_STD(exp, exp,
                    "0 at -inf, inf at inf; subnormal results are exact to their last place"),
        TESSERA_STD(exp2, exp2, "0 at -inf, inf at inf"),
        TESSERA_STD(expm1, expm1, "-1 at -inf, inf at inf, x for small x, zeros keep their sign"),
        TESSERA_STD(log, log, "-inf at zeros, NaN below, inf at inf; subnormal x too"),
        TESSERA_STD(log2, log2, "as log"),
        TESSERA_STD(log10, log10, "as log"),
        TESSERA_STD(log1p, log1p, "-inf at -1, NaN below, x for small x, zeros keep their sign"),
        TESSERA_STD(sqrt, sqrt, "IEEE: NaN below 0, -0 at -0"),
        unary(
            "rsqrt", [](const Array& x) { return ts::rsqrt(x); },
            [](auto x) { return 1 / std::sqrt(x); }, "inf at 0, -inf at -0, 0 at inf"),
        TESSERA_STD(cbrt, cbrt, "zeros and infinities give themselves"),
        TESSERA_STD(sin, sin, "any finite x; NaN at infinities; zeros keep their sign"),
        TESSERA_STD(cos, cos, "any finite x; NaN at infinities"),
        TESSERA_STD(tan, tan, "any finite x; NaN at infinities; zeros keep their sign"),
        TESSERA_STD(arcsin, asin, "NaN outside [-1, 1]"),
        TESSERA_STD(arccos, acos, "0 at 1, NaN outside [-1, 1]"),
        TESSERA_STD(arctan, atan, "pi/2 at inf"),
        TESSERA_STD(sinh, sinh, "infinite from where the exact result rounds to it"),
        TESSERA_STD(cosh, cosh, "infinite from where the exact result rounds to it"),
        TESSERA_STD(tanh, tanh,
                    "1 from where the exact result rounds to it; zeros keep their sign"),
        TESSERA_STD(arcsinh, asinh, "inf at inf; zeros keep their sign"),
        TESSERA_STD(arccosh, acosh, "0 at 1, NaN below, inf at inf"),
        TESSERA_STD(arctanh, atanh, "infinite at -1 and 1, NaN outside"),
        TESSERA_STD(erf, erf, "1 from where the exact result rounds to it; zeros keep their sign"),
        TESSERA_STD(erfc, erfc, "2 at -inf, 0 at inf, subnormal results between"),
        unary(
            "erf_inv", [](const Array& x) { return ts::erf_inv(x); },
            [](auto x) { return erf_inv(x); }, "infinite at -1 and 1, NaN outside"),
        unary(
            "gammaln", [](const Array& x) { return ts::gammaln(x); },
            [](auto x) { return std::lgamma(x); },
            "inf at zero, at negative integers and at infinities; below 0 ulps of at least 1"),
        unary(
            "sigmoid", [](const Array& x) { return ts::sigmoid(x); },
            [](auto x) { return sigmoid(x); }, "0 at -inf, 1 at inf"),
        unary(
            "reciprocal", [](const Array& x) { return ts::reciprocal(x); },
            [](auto x) { return 1 / x; }, "IEEE"),
        unary(
            "square", [](const Array& x) { return ts::square(x); }, [](auto x) { return x * x; },
            "IEEE"),
        TESSERA_STD(floor, floor, "exact"),
        TESSERA_STD(ceil, ceil, "exact"),
        TESSERA_STD(trunc, trunc, "exact"),
        TESSERA_STD(round, nearbyint, "exact, halves to even"),
        unary(
            "nn::gelu (erf)", [](const Array& x) { return ts::nn::gelu(x, false); },
            [](auto x) { return gelu(x); }, "-0 at -inf, inf at inf"),
        unary(
            "nn::gelu (tanh)", [](const Array& x) { return ts::nn::gelu(x); },
            [](auto x) { return gelu_tanh(x); }, "-0 at -inf, inf at inf"),
        unary(
            "nn::silu", [](const Array& x) { return ts::nn::silu(x); },
            [](auto x) { return times_sigmoid(x, x); }, "-0 at -inf, inf at inf"),
        unary(
            "nn::elu", [](const Array& x) { return ts::nn::elu(x); },
            [](auto x) { return x > 0 ? x : std::expm1(x); }, "-1 at -inf"),
        unary(
            "nn::softplus", [](const Array& x) { return ts::nn::softplus(x); },
            [](auto x) { return -log_sigmoid(-x); }, "0 at -inf, inf at inf"),
        unary(
            "nn::log_sigmoid", [](const Array& x) { return ts::nn::log_sigmoid(x); },
            [](auto x) { return log_sigmoid(x); }, "-inf at -inf, -0 at inf"),
        binary(
            "power", [](const Array& x, const Array& y) { return ts::power(x, y); },
            [](auto x, auto y) { return std::pow(x, y); }, "IEEE pow: 1 where y is 0 or x is 1"),
        binary(
            "arctan2", [](const Array& y, const Array& x) { return ts::arctan2(y, x); },
            [](auto y, auto x) { return std::atan2(y, x); }, "IEEE atan2, signed zeros included"),
        binary(
            "hypot", [](const Array& x, const Array& y) { return ts::hypot(x, y); },
            [](auto x, auto y) { return std::hypot(x, y); }, "inf where either is infinite"),
        binary(
            "logaddexp", [](const Array& x, const Array& y) { return ts::logaddexp(x, y); },
            [](auto x, auto y) { return logaddexp(x, y); },
            "x where y is -inf, inf where either is"),
        binary(
            "remainder", [](const Array& x, const Array& y) { return ts::remainder(x, y); },
            [](auto x, auto y) { return remainder(x, y); }, "the sign of y; NaN where y is 0"),
        binary(
            "divide", [](const Array& x, const Array& y) { return ts::divide(x, y); },
            [](auto x, auto y) { return x / y; }, "IEEE, as add, subtract and multiply"),
        unary(
            "deg2rad", [](const Array& x) { return ts::deg2rad(x); },
            [](auto x) { return x * (kPi<decltype(x)> / 180); }, "zeros and infinities"),
        unary(
            "rad2deg", [](const Array& x) { return ts::rad2deg(x); },
            [](auto x) { return x * (180 / kPi<decltype(x)>); }, "zeros and infinities"),
        unary(
            "sinc", [](const Array& x) { return ts::sinc(x); }, [](auto x) { return sinc(x); },
            "1 at 0, NaN at infinities"),
        unary(
            "factorial", [](const Array& x) { return ts::factorial(x); },
            [](auto x) { return x < 0 ? 0 : std::tgamma(x + 1); }, "0 below 0, inf at inf"),
        unary(
            "power (3)", [](const Array& x) { return ts::power(x, 3); },
            [](auto x) { return std::pow(x, 3); }, "multiplications"),
        unary(
            "power (10)", [](const Array& x) { return ts::power(x, 10); },
            [](auto x) { return std::pow(x, 10); }, "multiplications"),
        unary(
            "nn::celu", [](const Array& x) { return ts::nn::celu(x, 2); },
            [](auto x) { return x > 0 ? x : 2 * std::expm1(x / 2); }, "-alpha at -inf"),
        unary(
            "nn::selu", [](const Array& x) { return ts::nn::selu(x); },
            [](auto x) {
              return 1.0507009873554804934193349852946L *
                     (x > 0 ? x : 1.6732632423543772848170429916717L * std::expm1(x));
            },
            "-1.758 at -inf"),
        unary(
            "nn::mish", [](const Array& x) { return ts::nn::mish(x); },
            [](auto x) { return mish(x); }, "-0 at -inf, inf at inf"),
        unary(
            "nn::squareplus", [](const Array& x) { return ts::nn::squareplus(x); },
            [](auto x) { return squareplus(x); }, "0 at -inf, inf at inf"),
        unary(
            "nn::soft_sign", [](const Array& x) { return ts::nn::soft_sign(x); },
            [](auto x) { return x / (1 + std::fabs(x)); }, "NaN at infinities"),
        unary(
            "nn::sparse_plus", [](const Array& x) { return ts::nn::sparse_plus(x); },
            [](auto x) { return x <= -1  ? 0
                                : x >= 1 ? x
                                         : (x + 1) * (x + 1) / 4; },
            "0 below -1, x beyond 1"),
        unary(
            "nn::sparse_sigmoid", [](const Array& x) { return ts::nn::sparse_sigmoid(x); },
            [](auto x) {
              return x != x ? x : x <= -1 ? 0 : x >= 1 ? 1 : (x + 1) / 2;
            },
            "0 below -1, 1 beyond 1"),
        unary(
            "nn::hard_sigmoid", [](const Array& x) { return ts::nn::hard_sigmoid(x); },
            [](auto x) {
              return x != x ? x : x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6;
            },
            "0 below -3, 1 beyond 3"),
        unary(
            "nn::hard_silu", [](const Array& x) { return ts::nn::hard_silu(x); },
            [](auto x) { return x <= -3  ? 0
                                : x >= 3 ? x
                                         : x * (x + 3) / 6; },
            "0 below -3, x beyond 3"),
        unary(
            "nn::leaky_relu", [](const Array& x) { return ts::nn::leaky_relu(x); },
            [](auto x) { return x >= 0 ? x : x * 0.01L; }, "infinities"),
        binary(
            "floor_divide", [](const Array& x, const Array& y) { return ts::floor_divide(x, y); },
            [](auto x, auto y) { return floor_divide(x, y); },
            "the infinity or NaN of x / y where y is 0; a zero has the sign of y"),
        binary(
            "fmod", [](const Array& x, const Array& y) { return ts::fmod(x, y); },
            [](auto x, auto y) { return std::fmod(x, y); }, "the sign of x; NaN where y is 0"),
        binary(
            "ldexp", [](const Array& x, const Array& y) { return ts::ldexp(x, exponents_of(y)); },
            [](auto x, auto y) { return std::ldexp(x, exponent_of(y)); }, "rounded once"),
    };
    for (Function& f : list) {
      if (f.name == "gammaln") f.least = [](double x, double) { return x < 0 ? 1.0 : 0.0; };
      if (f.name == "logaddexp") {
        f.least = [](double x, double y) { return std::max(std::fabs(x), std::fabs(y)); };
        f.tails += "; ulps of the greater operand where the result is less";
      }
    }
    return list;
  }();
  return all;
}
#undef TESSERA_STD

}  // namespace accuracy
