// Hamiltonian Monte Carlo: two hundred chains that sample a distribution in the shape of a banana.
#include "lessons/lesson.h"

Array log_density(Array p) {
  return -0.5 * ts::square(p[0]) - 2 * ts::square(p[1] - 0.5 * ts::square(p[0]));
}

// One step: a ball rolls over the negative logarithm for a while, and its end may be refused.
Array hop(Array key, Array p) {
  auto [k1, k2] = ts::random::split(key);
  auto slope = ts::grad(log_density);
  Array v = ts::random::normal(k1, {2}), start = v;
  Array q = p;
  for (int k = 0; k < 8; ++k) {
    v = v + 0.1 * slope(q);
    q = q + 0.2 * v;
    v = v + 0.1 * slope(q);
  }
  auto log_total = [](Array q, Array v) { return log_density(q) - 0.5 * ts::sum(v * v); };
  Array odds = log_total(q, v) - log_total(p, start);
  return ts::where(ts::log(ts::random::uniform(k2)) < odds, q, p);
}

int main() {
  auto chain = [](Array key) {
    auto [last, all] = ts::scan(
        [](Array p, Array k) {
          Array next = hop(k, p);
          return std::pair(next, next);
        },
        ts::zeros(2), ts::random::split(key, 250));
    return all[ts::range(50, {})];  // without those on the way from the origin
  };
  Array samples =
      ts::jit(ts::vmap(chain))(ts::random::split(ts::random::key(0), 200)).reshape(-1, 2);

  Array column = ts::clip((samples(ts::all, 0) + 3) * 16, 0, 95).astype(ts::i32);
  Array row = ts::clip((4.5 - samples(ts::all, 1)) * 14, 0, 79).astype(ts::i32);
  save_heatmap("sampler.svg", ts::zeros({80, 96}).at(row, column).add(1.0),
               "forty thousand samples");
  std::cout << samples.shape() << " samples, mean within 0.05 of (0, 0.5): "
            << ts::allclose(ts::mean(samples, 0), ts::array({0.0, 0.5}), 0, 0.05) << "\n";
}
