#include "api/special/gauss_nodes.h"

#include <cmath>
#include <numbers>

namespace tessera::inline v0::detail {

// Finds the zeros of the Legendre polynomial by Newton's method.
std::vector<Node> gauss_nodes(int n) {
  const int degree = 2 * n;
  std::vector<Node> all;
  for (int i = 1; i <= n; ++i) {
    long double x = std::cos(std::numbers::pi_v<long double> * (i - 0.25L) / (degree + 0.5L)),
                slope = 0;
    for (int step = 0; step < 8; ++step) {
      long double p = 1, before = 0;
      for (int k = 0; k < degree; ++k) {
        const long double next = ((2 * k + 1) * x * p - k * before) / (k + 1);
        before = p, p = next;
      }
      slope = degree * (x * p - before) / (x * x - 1);
      x -= p / slope;
    }
    all.push_back({static_cast<double>(x), static_cast<double>(2 / ((1 - x * x) * slope * slope))});
  }
  return all;
}

}  // namespace tessera::inline v0::detail
