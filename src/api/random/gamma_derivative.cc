// With P(a, x) the distribution function and p its density, dx/da = -(dP/da) / p. As an integral
// over the nearer tail, in u = +-log(variable / x), this is
//
//   dlog(x)/da = s * integral over u > 0 of (log(x) + s u - psi(a)) exp(a s u - x (exp(s u) - 1))
//
// with s = 1 for the upper tail and -1 for the lower one. The tail is chosen by comparing log(x)
// with psi(a), so that the first factor has one sign and nothing cancels. Gauss-Legendre quadrature
// up to where the exponential is 1e-19 gives about 12 digits. Large a use a series.
#include "api/random/gamma_derivative.h"

#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>
#include <tessera/special.h>

#include <cmath>

namespace tessera::inline v0::random {

namespace {

constexpr int kNodes = 64;
constexpr double kDepth = 44;  // exp(-44) = 8e-20
// From this a on, the exponent, a difference of terms of size sqrt(a), is less accurate than a
// series in 1 / sqrt(a).
constexpr double kLarge = 1e10;

struct Quadrature {
  std::vector<double> nodes, weights;  // on (0, 1)
};

// The zeros of the Legendre polynomial, by Newton's method from Tricomi's estimates.
Quadrature legendre_rule(int n) {
  Quadrature q;
  for (int i = 0; i < n; ++i) {
    double x = std::cos(M_PI * (i + 0.75) / (n + 0.5)), slope = 1;
    for (int turn = 0; turn < 8; ++turn) {
      double before = 1, now = x;
      for (int k = 2; k <= n; ++k) {
        const double next = ((2 * k - 1) * x * now - (k - 1) * before) / k;
        before = now;
        now = next;
      }
      slope = n * (x * now - before) / (x * x - 1);
      x -= now / slope;
    }
    q.nodes.push_back((1 - x) / 2);
    q.weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return q;
}

// For large a and normal z, x is a + z sqrt(a) + (z^2 - 1) / 3 + O(z^3 / sqrt(a)). This is its
// derivative at fixed z, with r = (x - a) / a.
Array of_large(const Array& given, const Array& log_x) {
  const Array is = given >= kLarge, a = where(is, given, kLarge);
  const Array r = expm1(where(is, log_x - log(a), 0.0));
  return (1 + r / 2 - square(r) / 6 + 1 / (6 * a)) / (a * (1 + r));
}

}  // namespace

Array log_gamma_derivative(const Array& a, const Array& log_x) {
  static const Quadrature& rule = *new Quadrature(legendre_rule(kNodes));
  const Array center = digamma(a), x = exp(log_x);
  const Array upper = log_x > center;
  const Array s = where(upper, 1.0, -1.0).astype(DType::float64);
  const auto exponent = [](const Array& a, const Array& x, const Array& v) {
    return a * v - where(x > 0, x * expm1(v), 0.0);
  };
  // Bisects for the point where the exponent falls below -kDepth, starting from `far`, where it is
  // surely below.
  struct Bracket {
    Array lo, hi;
  };
  const Array far = where(upper, log1p((2 * kDepth + 4 * a) / maximum(x, 1e-300)) + 1.0,
                          (kDepth + minimum(x, a)) / a);
  const Bracket found = fori_loop(
      0, 30,
      [&](Array, const Bracket& b) {
        const Array middle = (b.lo + b.hi) * 0.5;
        const Array deep = exponent(a, x, s * middle) < -kDepth;
        return Bracket{where(deep, b.lo, middle), where(deep, middle, b.hi)};
      },
      Bracket{zeros_like(far), stop_gradient(far)});
  const Array reach = stop_gradient(found.hi);
  const auto last = [](const Array& v) { return expand_dims(v, -1); };
  const Array v = last(s * reach) * Array(rule.nodes);
  const Array terms = (last(log_x - center) + v) * exp(exponent(last(a), last(x), v));
  const Array by_integral = s * reach * sum(terms * Array(rule.weights), -1);
  return where(a >= kLarge, of_large(a, log_x), by_integral);
}

}  // namespace tessera::inline v0::random
