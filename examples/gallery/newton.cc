// Which root of a polynomial does Newton's method find from each point of the complex plane?
#include "lessons/lesson.h"

int main() {
  auto f = [](Array z) { return z * z * z - 1; };
  auto df = [](Array z) { return 3 * z * z; };
  auto search = ts::jit([&](Array z) {
    return ts::fori_loop(
        0, 40, [&](Array, Array z) { return z - f(z) / df(z); }, z);
  });

  const int n = 120;
  Array x = ts::linspace(-1.6, 1.6, n), y = ts::linspace(1.59, -1.6, n)(ts::all, ts::newaxis);
  Array found = search(ts::complex(ts::broadcast_to(x, {n, n}), ts::broadcast_to(y, {n, n})));

  // The roots have the angles 0, 2 pi / 3 and -2 pi / 3.
  Array root = ts::around(ts::arctan2(ts::imag(found), ts::real(found)) * 3 / (2 * ts::pi));
  save_heatmap("newton.svg", root, "the root that each point leads to");
  std::cout << "worst |f(z)|: below 1e-3 for "
            << ts::around(100 * ts::mean(ts::abs(f(found)) < 1e-3)) << " % of the points\n";
}
