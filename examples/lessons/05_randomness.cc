// Lesson 5: keys, and random numbers that can be repeated.
#include "lessons/lesson.h"

int main() {
  part("key");
  Array key = ts::random::key(42);
  std::cout << ts::random::normal(key, {3}) << "\n";
  std::cout << ts::random::normal(key, {3}) << "\n";

  part("split");
  auto [first, second] = ts::random::split(key);
  std::cout << ts::random::normal(first, {3}) << "\n";
  std::cout << ts::random::normal(second, {3}) << "\n";

  part("steps");
  for (int step = 0; step < 3; ++step) {
    Array now = ts::random::fold_in(key, step);
    std::cout << ts::random::randint(now, {6}, 1, 7) << "\n";
  }

  part("correlated");
  auto correlation = [](Array a, Array b) { return ts::corrcoef(ts::stack({a, b}))(0, 1); };
  Array weights = ts::random::normal(key, {1000}), noise = ts::random::normal(key, {1000});
  std::cout << "correlation of one key  " << correlation(weights, noise) << "\n";
  weights = ts::random::normal(first, {1000}), noise = ts::random::normal(second, {1000});
  std::cout << "correlation of two keys " << correlation(weights, noise) << "\n";

  part("mistake");
  Array keys = ts::random::split(key, 4);
  try {
    ts::random::normal(keys, {3});
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("mended");
  auto draw = [](Array k) { return ts::random::normal(k, {3}); };
  std::cout << ts::vmap(draw)(keys) << "\n";

  part("walks");
  auto walk = [](Array k) { return ts::cumsum(ts::random::rademacher(k, {200})); };
  Array walks = ts::jit(ts::vmap(walk))(ts::random::split(key, 2000));  // (2000, 200)
  Array spread = ts::std(walks.astype(ts::f32), 0);
  std::cout << "spread after 50 and 200 steps: " << spread[49] << " " << spread[199] << "\n";

  part("picture");
  std::vector<Curve> curves;
  std::vector<double> steps = ts::arange(200).astype(ts::f64).to_vector<double>();
  for (int k = 0; k < 5; ++k)
    curves.push_back({"", steps, walks[k].astype(ts::f64).to_vector<double>()});
  curves.push_back({"spread of 2000 walks", steps, spread.astype(ts::f64).to_vector<double>()});
  save_chart("walks.svg", curves, {.title = "Five random walks", .x = "step", .y = "place"});

  part("answer pi");
  auto [kx, ky] = ts::random::split(key);
  Array x = ts::random::uniform(kx, {1'000'000}), y = ts::random::uniform(ky, {1'000'000});
  std::cout << 4 * ts::mean(x * x + y * y < 1) << "\n";

  part("answer shuffle");
  Array data = ts::arange(10).reshape(5, 2), labels = ts::arange(5);
  Array order = ts::random::permutation(key, 5);
  std::cout << ts::take(labels, order) << "\n" << ts::take(data, order, 0)(ts::all, 0) << "\n";
}
