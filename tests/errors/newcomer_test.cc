// Mistakes in the first programs of users who know JAX or NumPy.
#include "errors/misuse.h"

namespace {

struct Model {
  ts::nn::Linear hidden, out;
  Array operator()(Array x) const { return out(ts::nn::relu(hidden(x))); }
};
Model model() {
  auto [a, b] = ts::random::split<2>(ts::random::key(0));
  return {ts::nn::linear(a, 6, 8), ts::nn::linear(b, 8, 3)};
}
Array loss(const Model& m, Array x, Array y) {
  return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(m(x), y));
}
Array images(std::int64_t devices) { return ts::ones({devices, 5, 6}); }
Array labels(std::int64_t devices) { return ts::zeros({devices, 5}, ts::i32); }

}  // namespace

MISUSE(first_device_of_a_replicated_loss) {
  auto evaluate = ts::pmap([](Model m, Array x, Array y) { return ts::pmean(loss(m, x, y), "i"); },
                           {.in_axes = {ts::replicated, 0, 0}, .out_axes = ts::replicated});
  (void)evaluate(model(), images(4), labels(4))[0].item<float>();
}
MISUSE(loss_of_all_devices_as_one_number) {
  auto evaluate = ts::pmap([](Model m, Array x, Array y) { return ts::pmean(loss(m, x, y), "i"); },
                           {.in_axes = {ts::replicated, 0, 0}});
  (void)float(evaluate(model(), images(4), labels(4)));
}
MISUSE(model_changed_from_inside) {
  Model m = model();
  auto step = ts::jit([&](Array x, Array y) {
    auto [value, grads] = ts::value_and_grad(loss)(m, x, y);
    m = ts::tree::map([](Array p, Array g) { return p - 0.1 * g; }, m, grads);
    return value;
  });
  step(images(1)[0], labels(1)[0]);
  m(images(1)[0]);
}
MISUSE(optimiser_state_without_rows) {
  auto opt = ts::optim::adam(1e-3);
  auto step = ts::pmap([&](Model m, ts::optim::State s, Array x, Array y) {
    auto grads = ts::pmean(ts::grad(loss)(m, x, y), "i");
    auto [updates, next] = opt.update(grads, s, m);
    return std::pair(ts::optim::apply_updates(m, updates), next);
  });
  step(ts::replicate(model(), 4), opt.init(model()), images(4), labels(4));
}
MISUSE(stacked_model_outside_pmap) { ts::replicate(model(), 4)(images(1)[0]); }
MISUSE(labels_of_another_number_of_classes) {
  ts::nn::softmax_cross_entropy(model()(images(1)[0]), ts::one_hot(labels(1)[0], 4));
}
MISUSE(gradient_for_the_labels) { ts::grad<2>(loss)(model(), images(1)[0], labels(1)[0]); }
MISUSE(collective_over_vmap_without_a_name) {
  ts::vmap([](Array x) { return x / ts::psum(x, "batch"); })(images(4));
}
MISUSE(moved_model_used_again) {
  Model m{ts::nn::linear(ts::random::key(0), 64, 64), {}};
  Array weight = m.hidden.weight;
  auto give = ts::jit([](Model old) { return ts::tree::map([](Array p) { return p * 2; }, old); },
                      {.donate = {0}});
  give(m);
  weight + 1;
}
MISUSE(mean_over_the_batch_inside_vmap) {
  ts::vmap([](Array x) { return ts::mean(x, 1); })(ts::ones({4, 3}));
}
MISUSE(transposed_weight) { ts::dot(ts::ones({8, 6}), ts::ones({5, 6})); }
MISUSE(loop_that_needs_a_number) {
  ts::jit([](Array n, Array x) {
    for (int i = 0; i < n.item<int>(); ++i) x = x * 2;
    return x;
  })(3, ts::ones({2}));
}
MISUSE(shape_from_a_traced_value) {
  ts::jit([](Array n) { return ts::zeros({n.item<int>(), 3}); })(3);
}
MISUSE(range_for_over_a_scalar) {
  for (Array row : ts::sum(ts::ones({3}))) (void)row;
}
