// Three bodies on a figure of eight. The forces are the gradient of the potential energy.
#include "lessons/lesson.h"

#include <cmath>

struct Bodies {
  Array place, speed;  // (3, 2)
};

Array potential(Array place) {
  Array difference = place(ts::all, ts::newaxis) - place;
  Array squares = ts::sum(ts::square(difference), -1) + ts::eye(3);  // 1 for a body with itself
  return -0.5 * ts::sum((1 - ts::eye(3)) / ts::sqrt(squares));
}

Array energy(const Bodies& b) { return potential(b.place) + 0.5 * ts::sum(ts::square(b.speed)); }

int main() {
  const double dt = 0.002;
  auto force = [](Array place) { return -ts::grad(potential)(place); };
  auto move = [&](Bodies b) {  // leapfrog, which keeps the energy in the long run
    Array half = b.speed + 0.5 * dt * force(b.place);
    Array place = b.place + dt * half;
    return std::pair(Bodies{place, half + 0.5 * dt * force(place)}, place);
  };
  auto simulate = ts::jit([&](Bodies b) { return ts::scan(move, b, {.length = 3163}); });

  // The orbit that Moore found, with the numbers of Chenciner and Montgomery.
  Bodies start{
      ts::array({{0.97000436, -0.24308753}, {-0.97000436, 0.24308753}, {0.0, 0.0}}),
      ts::array({{0.46620368, 0.43236573}, {0.46620368, 0.43236573}, {-0.93240737, -0.86473146}})};
  auto [end, path] = simulate(start);  // path: (3160, 3, 2)

  auto doubles = [](Array x) { return x.astype(ts::f64).to_vector<double>(); };
  std::vector<Curve> curves;
  for (int k = 0; k < 3; ++k) {
    Array third = path[ts::range(0, 1060, 10)](ts::all, k);  // a third of the period
    curves.push_back(
        {"body " + std::to_string(k + 1), doubles(third(ts::all, 0)), doubles(third(ts::all, 1))});
  }
  save_chart("orbits.svg", curves, {.title = "A third of the period"});
  const double drift = (energy(end) - energy(start)).item<float>();
  Array moved = ts::max(ts::abs(end.place - start.place));
  std::cout << "energy " << energy(start)
            << ", kept to 1e-4: " << (std::abs(drift) < 1e-4 ? "yes" : "no") << "\n";
  std::cout << "back at the start after one period, to 0.01: " << (moved < 0.01) << "\n";
}
