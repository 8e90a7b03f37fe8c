// Lesson 4: functions of one example, applied to many.
#include "lessons/lesson.h"

//: one
Array angle(Array a, Array b) {  // between two vectors
  return ts::arccos(ts::dot(a, b) / (ts::norm(a) * ts::norm(b)));
}
//:

int main() {
  part("rows");
  Array a = ts::array({{1.0, 0.0}, {1.0, 1.0}, {0.0, 2.0}});
  Array b = ts::array({{0.0, 1.0}, {1.0, 0.0}, {0.0, 3.0}});
  std::cout << ts::vmap(angle)(a, b) << "\n";

  part("shared");
  Array north = ts::array({0.0, 1.0});
  std::cout << ts::vmap(angle, {.in_axes = {0, ts::replicated}})(a, north) << "\n";

  part("all pairs");
  auto to_all = ts::vmap(angle, {.in_axes = {ts::replicated, 0}});
  auto all_pairs = ts::vmap(to_all, {.in_axes = {0, ts::replicated}});
  std::cout << all_pairs(a, b) << "\n";

  part("program");
  std::cout << ts::jit(ts::vmap([](Array u, Array v) { return ts::dot(u, v); })).lower(a, b).ir();

  part("per example");
  auto loss = [](Array w, Array x, Array y) { return ts::square(ts::dot(w, x) - y); };
  Array w = ts::array({0.5, -0.5});
  Array x = ts::array({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), y = ts::array({1.0, 2.0, 3.0});
  auto each = ts::vmap(ts::grad(loss), {.in_axes = {ts::replicated, 0, 0}});
  std::cout << each(w, x, y) << "\n";

  part("mistake");
  try {
    ts::vmap(angle)(a, north);
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("field");
  Array charges = ts::array({{-1.0, 0.0}, {1.0, 0.0}});
  Array signs = ts::array({1.0, -1.0});
  auto potential = [&](Array p) {
    Array distance = ts::sqrt(ts::sum(ts::square(charges - p), 1) + 0.05);
    return ts::sum(signs / distance);
  };
  Array line = ts::linspace(-2, 2, 22);
  std::vector<Array> grid = ts::meshgrid({line, line});
  Array points = ts::stack({grid[0].reshape(-1), grid[1].reshape(-1)}, 1);  // (484, 2)
  Array field = -ts::vmap(ts::grad(potential))(points);
  save_arrows("field.svg", points, field, "the field of two charges");
  std::cout << ts::to_string(field.shape()) << "\n";

  part("answer columns");
  Array m = ts::array({{3.0, 1.0}, {4.0, 0.0}});
  auto norm = [](Array v) { return ts::norm(v); };
  std::cout << ts::vmap(norm, {.in_axes = {1}})(m) << "\n";

  part("answer polynomials");
  auto polynomial = [](Array c, Array t) { return c[0] + c[1] * t + c[2] * t * t; };
  Array coefficients = ts::array({{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}});
  auto at_points = ts::vmap(polynomial, {.in_axes = {ts::replicated, 0}});
  auto all = ts::vmap(at_points, {.in_axes = {0, ts::replicated}});
  std::cout << all(coefficients, ts::array({1.0, 2.0, 3.0})) << "\n";
}
