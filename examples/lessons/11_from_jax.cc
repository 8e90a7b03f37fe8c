// Lesson 11: a model that JAX exported, run and trained further without Python.
#include "lessons/lesson.h"

//: weights
struct Weights {  // in the order in which JAX flattens the dictionary
  Array b1, b2, w1, w2;
};

Array model(const ts::LoadedFunction& loaded, const Weights& w, Array x) {
  return loaded(w.b1, w.b2, w.w1, w.w2, x)[0];
}
//:

int main() {
  part("load");
  const std::string name = LESSON_FILES "/11_from_jax";
  auto loaded = ts::load_stablehlo(name + ".bin");
  for (const ts::ArrayType& t : loaded.inputs())
    std::cout << t.name << ": " << t.dtype << ts::to_string(t.shape) << "\n";

  part("run");
  auto file = ts::load_npz(name + ".npz");
  Weights weights{file.at("b1"), file.at("b2"), file.at("w1"), file.at("w2")};
  Array x = ts::linspace(-3, 3, 100)(ts::all, ts::newaxis);
  Array y = model(loaded, weights, x);
  std::cout << "here " << y[ts::range(0, 5)] << "\n";
  std::cout << "JAX  " << file.at("result") << "\n";

  part("train");
  Array target = ts::sin(x(ts::all, 0)) + 0.5;
  auto loss = [&](Weights w) { return ts::mean(ts::square(model(loaded, w, x) - target)); };
  auto step = ts::jit([&](Weights w) {
    auto [l, g] = ts::value_and_grad(loss)(w);
    return std::pair(ts::tree::map([](Array p, Array d) { return p - 0.05 * d; }, w, g), l);
  });
  Weights tuned = weights;
  for (int k = 0; k < 200; ++k) {
    auto [next, l] = step(tuned);
    tuned = next;
    if (k % 50 == 0) std::cout << "loss " << l << "\n";
  }

  part("picture");
  auto doubles = [](Array v) { return v.astype(ts::f64).to_vector<double>(); };
  save_chart("from_jax.svg",
             {{"as JAX trained it", doubles(x(ts::all, 0)), doubles(y)},
              {"trained further here", doubles(x(ts::all, 0)), doubles(model(loaded, tuned, x))}},
             {.title = "One model, two trainings", .x = "x"});

  part("mistake");
  try {
    model(loaded, weights, ts::ones({4, 2}));
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("back");
  std::string text = ts::stablehlo_text([](Array v) { return ts::tanh(2 * v); }, ts::ones(3));
  std::cout << text;

  part("answer map");
  auto slopes =
      ts::vmap(ts::grad([&](Array v) { return model(loaded, weights, v.reshape(1, 1))[0]; }));
  std::cout << slopes(ts::array({0.0, 1.0, 2.0})) << "\n";
}
