// How must a cannon aim in order to hit a target in the wind? The derivative goes through the flight.
#include "lessons/lesson.h"

struct Shot {
  Array place, speed;
};

std::pair<Array, Array> fly(Array aim) {  // to where the ball is after three seconds, and its path
  const double dt = 0.02;
  Shot start{ts::zeros(2), aim};
  auto [end, path] = ts::scan(
      [&](Shot s) {
        Array wind = s.speed - ts::array({-8.0, 0.0});
        Array pull = ts::array({0.0, -9.81}) - 0.02 * ts::norm(wind) * wind;
        Shot next{s.place + dt * s.speed, s.speed + dt * pull};
        return std::pair(next, next.place);
      },
      start, {.length = 150});
  return {end.place, path};
}

int main() {
  const Array target = ts::array({40.0, 5.0});
  auto end = [](Array aim) { return fly(aim).first; };
  auto better = ts::jit([&](Array aim) {  // one step of Newton's method
    return aim - ts::linalg::solve(ts::jacfwd(end)(aim), end(aim) - target);
  });

  auto doubles = [](Array v) { return v.astype(ts::f64).to_vector<double>(); };
  std::vector<Curve> curves;
  Array aim = ts::array({15.0, 15.0});
  for (int k = 0; k < 5; ++k) {
    Array path = fly(aim).second;
    if (k < 3)
      curves.push_back(
          {"shot " + std::to_string(k + 1), doubles(path(ts::all, 0)), doubles(path(ts::all, 1))});
    aim = better(aim);
  }
  curves.push_back({"target", {40}, {5}, true});
  save_chart("cannon.svg", curves, {.title = "Three shots", .x = "metres"});
  Array miss = ts::norm(end(aim) - target);
  std::cout << "aim " << ts::around(aim, 2) << ", within a centimetre: " << (miss < 0.01) << "\n";
}
