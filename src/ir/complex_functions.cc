#include "ir/complex_functions.h"

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

namespace tessera::inline v0 {
namespace {

// R is the type used for the computation; it is wider than the parts of the elements.
template <class R>
struct Functions {
  using C = std::complex<R>;

  static C times(C x, C y) {
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  }
  static C inverse(C x) {
    const R c = x.real(), d = x.imag();
    if (std::isinf(c) || std::isinf(d)) return {std::copysign(R(0), c), -std::copysign(R(0), d)};
    if (c == 0 && d == 0) return {1 / c, std::copysign(R(0), -d)};
    if (std::fabs(c) >= std::fabs(d)) {
      const R ratio = d / c, whole = c + d * ratio;
      return {1 / whole, -ratio / whole};
    }
    const R ratio = c / d, whole = c * ratio + d;
    return {ratio / whole, R(-1) / whole};
  }

  static C abs(C x, C) { return {std::hypot(x.real(), x.imag()), 0}; }
  static C sqrt(C x, C) { return std::sqrt(x); }
  static C rsqrt(C x, C) { return inverse(std::sqrt(x)); }
  static C exp(C x, C) { return std::exp(x); }
  static C exp2(C x, C) {
    const R ln2 = std::numbers::ln2_v<R>;
    return std::exp(C(x.real() * ln2, x.imag() * ln2));
  }
  // The real part is exp(a) cos(b) - 1, without the cancellation near 0.
  static C expm1(C x, C) {
    const R a = x.real(), b = x.imag();
    if (b == 0) return {std::expm1(a), b};
    if (!std::isfinite(a) || !std::isfinite(b) || a > 30) {
      const C e = std::exp(x);
      return {e.real() - 1, e.imag()};
    }
    const R half = std::sin(b / 2);
    return {std::expm1(a) * std::cos(b) - 2 * half * half, std::exp(a) * std::sin(b)};
  }
  static C log(C x, C) { return std::log(x); }
  // 2 a + a^2 + b^2, which cancels where |1 + x| is near 1, computed to the last place.
  static R square_less_one(R a, R b) {
    const R a_square = a * a, b_square = b * b;
    R rest = std::fma(a, a, -a_square) + std::fma(b, b, -b_square), sum = 2 * a;
    for (R term : {b_square, a_square}) {
      const R next = sum + term, part = next - sum;
      rest += (sum - (next - part)) + (term - part);
      sum = next;
    }
    return sum + rest;
  }
  // The logarithm of 1 + x, without the cancellation near 0.
  static C log1p(C x, C) {
    const R a = x.real(), b = x.imag();
    const R angle = std::atan2(b, 1 + a);
    if (!(std::fabs(a) < R(0.5)) || !(std::fabs(b) < R(0.5)))
      return {std::log(C(1 + a, b)).real(), angle};
    return {std::log1p(square_less_one(a, b)) / 2, angle};
  }
  // For x = a + b i the result is (exp(a) + cos(b) + i sin(b)) / (2 (cosh(a) + cos(b))). Near the
  // poles, where a and 1 + cos(b) are zero, it is computed by sums of squares, and far away without
  // the terms that would overflow.
  static C logistic(C x, C) {
    const R a = x.real(), b = x.imag();
    if (!std::isfinite(b)) {
      const C e = std::exp(-x);
      return inverse(C(1 + e.real(), e.imag()));
    }
    const R cos_b = std::cos(b), sin_b = std::sin(b);
    if (std::fabs(a) > 40) {
      const R e = std::exp(-std::fabs(a)), whole = 1 + e * (2 * cos_b + e);
      const R top = a < 0 ? e * (cos_b + e) : 1 + e * cos_b;
      return {top / whole, e * sin_b / whole};
    }
    const R sine = std::sinh(a / 2), cosine = std::cos(b / 2);
    const R whole = 4 * (sine * sine + cosine * cosine);
    const R top = cos_b < R(-0.5) ? std::expm1(a) + 2 * cosine * cosine : std::exp(a) + cos_b;
    return {top / whole, sin_b / whole};
  }
  static C sin(C x, C) { return std::sin(x); }
  static C cos(C x, C) { return std::cos(x); }
  static C tan(C x, C) { return std::tan(x); }
  static C asin(C x, C) { return std::asin(x); }
  static C acos(C x, C) { return std::acos(x); }
  static C atan(C x, C) { return std::atan(x); }
  static C sinh(C x, C) { return std::sinh(x); }
  static C cosh(C x, C) { return std::cosh(x); }
  static C tanh(C x, C) { return std::tanh(x); }
  static C asinh(C x, C) { return std::asinh(x); }
  static C acosh(C x, C) { return std::acosh(x); }
  static C atanh(C x, C) { return std::atanh(x); }
  static C pow(C x, C y) {
    if (y == C(0)) return {1, 0};
    if (x == C(0)) {
      if (y.real() > 0) return {0, 0};
      return {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN()};
    }
    return std::exp(times(y, std::log(x)));
  }
};

template <class R, std::complex<R> (*f)(std::complex<R>, std::complex<R>)>
ComplexParts in_parts(double real, double imag, double other_real, double other_imag) {
  const std::complex<R> r = f({static_cast<R>(real), static_cast<R>(imag)},
                              {static_cast<R>(other_real), static_cast<R>(other_imag)});
  return {static_cast<double>(r.real()), static_cast<double>(r.imag())};
}

// clang-format off
#define TESSERA_COMPLEX(X)                                                                         \
  X(abs) X(sqrt) X(rsqrt) X(exp) X(exp2) X(expm1) X(log) X(log1p) X(logistic) X(sin) X(cos) X(tan) \
  X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(pow)
// clang-format on

using Table = std::map<std::pair<Arith, bool>, ComplexFunction>;

const Table& table() {
  // Leaked, like all such tables: threads may still compile while the process ends.
  static const auto& rows = *new Table{
#define TESSERA_ROWS(op)                                                                       \
  {{Arith::op, false}, {"tessera_complex64_" #op, &in_parts<double, &Functions<double>::op>}}, \
      {{Arith::op, true},                                                                      \
       {"tessera_complex128_" #op, &in_parts<long double, &Functions<long double>::op>}},
      TESSERA_COMPLEX(TESSERA_ROWS)};
  return rows;
}

}  // namespace

const ComplexFunction* complex_function(Arith op, bool wide) {
  const auto it = table().find({op, wide});
  return it == table().end() ? nullptr : &it->second;
}

const std::vector<ComplexFunction>& all_complex_functions() {
  static const auto& all = *new auto([] {
    std::vector<ComplexFunction> v;
    for (const auto& [key, f] : table()) v.push_back(f);
    return v;
  }());
  return all;
}

}  // namespace tessera::inline v0
