// The common pitfalls of data parallelism.
#include "errors/misuse.h"

namespace {

struct Model {
  Array w, b;
};
struct Batch {
  Array image, label;
};
Model model() { return {ts::ones({12, 10}), ts::zeros({10})}; }

Array loss(const Model& m, const Batch& batch) {
  Array logits = ts::dot(batch.image.reshape(batch.image.shape(0), -1), m.w) + m.b;
  return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(logits, batch.label));
}
Model updated(const Model& m, const Model& grads) {
  return ts::tree::map([](Array p, Array g) { return p - 0.1 * g; }, m, grads);
}
Batch batch(std::int64_t n) { return {ts::ones({n, 2, 2, 3}), ts::zeros({n}, ts::i32)}; }
Batch sharded(std::int64_t devices, std::int64_t each) {
  return ts::data::shard_batch(batch(devices * each), devices);
}

}  // namespace

// 1. The batch does not divide over the devices.
MISUSE(batch_that_does_not_divide) { ts::data::shard_batch(batch(102), 4); }
MISUSE(batch_reshaped_by_hand) { batch(102).image.reshape(4, -1, 2, 2, 3); }

// 2. No pmean. The model is the same on all devices before the step and differs after it.
MISUSE(forgotten_pmean) {
  auto step = ts::pmap(
      [](Model m, Batch b) {
        Model grads = ts::grad(loss)(m, b);
        return updated(m, grads);
      },
      {.axis_name = "devices", .in_axes = {ts::replicated, 0}});
  step(model(), sharded(4, 8));
}
MISUSE(forgotten_pmean_of_stacked_state) {
  auto step = ts::pmap([](Model m, Batch b) {
    auto [value, grads] = ts::value_and_grad(loss)(m, b);
    return std::pair(updated(m, grads), value);
  });
  step(ts::replicate(model(), 4), sharded(4, 8));
}
MISUSE(forgotten_pmean_with_an_optimiser) {
  auto opt = ts::optim::adam(1e-3);
  auto step = ts::pmap([&](ts::optim::TrainState<Model> s, Batch b) {
    return s.apply_gradients(opt, ts::grad(loss)(s.model, b));
  });
  step(ts::replicate(ts::optim::train_state(model(), opt), 4), sharded(4, 8));
}
MISUSE(forgotten_pmean_of_a_replicated_loss) {
  auto step = ts::pmap(
      [](Model m, Batch b) {
        auto [value, grads] = ts::value_and_grad(loss)(m, b);
        return std::pair(updated(m, ts::pmean(grads, "devices")), value);
      },
      {.axis_name = "devices",
       .in_axes = {ts::replicated, 0},
       .out_axes = {ts::replicated, ts::replicated}});
  step(model(), sharded(4, 8));
}
MISUSE(pmean_without_an_axis_name) {
  auto step = ts::pmap([](Model m, Batch b) { return ts::pmean(ts::grad(loss)(m, b), "devices"); });
  step(ts::replicate(model(), 4), sharded(4, 8));
}

// 3. The batch has no device axis.
MISUSE(batch_without_a_device_axis) {
  auto step = ts::pmap([](Model m, Batch b) { return ts::pmean(ts::grad(loss)(m, b), "i"); },
                       {.in_axes = {ts::replicated, 0}});
  step(model(), batch(128));
}
MISUSE(batch_without_a_device_axis_and_replicated_model) {
  auto step = ts::pmap([](Model m, Batch b) { return ts::pmean(ts::grad(loss)(m, b), "i"); });
  step(ts::replicate(model(), 4), batch(128));
}
MISUSE(model_that_is_not_replicated) {
  auto step = ts::pmap([](Model m, Batch b) { return ts::pmean(ts::grad(loss)(m, b), "i"); });
  step(model(), sharded(4, 8));
}
