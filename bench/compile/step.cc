// A typical program, whose compile time compile.py measures: the whole library is included, a
// training step is pmapped, and the model is evaluated under jit.
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

struct Linear {
  Array w, b;
};
struct Mlp {
  std::vector<Linear> layers;
  Array operator()(Array x) const {
    for (std::size_t i = 0; i + 1 < layers.size(); ++i)
      x = ts::tanh(ts::dot(x, layers[i].w) + layers[i].b);
    return ts::dot(x, layers.back().w) + layers.back().b;
  }
};

Array loss(const Mlp& m, Array x, Array y) { return ts::mean(ts::square(m(x) - y)); }

int main() {
  auto step = ts::pmap(
      [](Mlp m, Array x, Array y) {
        auto [l, g] = ts::value_and_grad(loss)(m, x, y);
        g = ts::pmean(g, "devices");
        m = ts::tree::map([](Array p, Array d) { return p - 0.1 * d; }, m, g);
        return std::pair(m, ts::pmean(l, "devices"));
      },
      {.axis_name = "devices",
       .in_axes = {ts::replicated, 0, 0},
       .out_axes = {ts::replicated, ts::replicated}});
  Mlp m{{{ts::ones({3, 4}), ts::zeros({4})}}};
  auto [next, l] = step(m, ts::ones({1, 2, 3}), ts::ones({1, 2, 4}));
  auto predict = ts::jit([](Mlp m, Array x) { return m(x); });
  return l.item<float>() < ts::max(predict(next, ts::ones({2, 3}))).item<float>();
}
