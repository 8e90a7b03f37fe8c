// The execution model, the state with one row per device, the training step and the loop.
#include "cells.h"

namespace training_techniques {

Array parallel_function(Array x) {
  return ts::pmap([](Array x) { return x * 2; })(x);
}

Replicated replicated_state(const Cnn& model, double rate, std::int64_t devices) {
  State state = optim::train_state(model, optim::adam(rate));
  // The state is flattened to leaves, including step counters; each leaf is repeated once per
  // device; and the leaves are put together again.
  auto [leaves, def] = ts::tree::flatten(state);
  leaves = ts::replicate(leaves, devices);
  State rows = ts::tree::unflatten(state, leaves);
  // ts::replicate(state, devices) does the same in one call.
  return {state, rows};
}

namespace {

auto make_train_step(const optim::Optimizer& opt) {
  return ts::pmap(
      [opt](State state, Batch batch) {
        auto [value, grads] = ts::value_and_grad(loss_and_metrics)(state.model, batch);
        auto [loss, metrics] = value;
        // The critical line: the mean over the devices, of a whole model at once.
        grads = ts::pmean(grads, kDevices);
        loss = ts::pmean(loss, kDevices);
        metrics = ts::pmean(metrics, kDevices);
        return StepResult{state.apply_gradients(opt, grads), loss, metrics};
      },
      {.axis_name = kDevices});
}

}  // namespace

StepResult train_step(const optim::Optimizer& opt, const State& state, const Batch& batch) {
  return make_train_step(opt)(state, batch);
}

Cost communication(const CnnOptions& options, std::int64_t batch) {
  auto adam = optim::adam(1e-3);
  const std::int64_t devices = ts::device_count();
  State state = replicated_state(make_cnn(ts::random::key(0), options), 1e-3, devices).rows;
  const std::int64_t each = batch / devices, size = options.size;
  // A plan needs shapes only; nothing runs.
  Batch shapes{ts::abstract(ts::f32, {devices, each, size, size, 3}),
               ts::abstract(ts::i32, {devices, each})};
  Cost cost{0, 0};
  for (const auto& use : make_train_step(adam).lower(state, shapes).collectives()) {
    cost.collectives += static_cast<std::size_t>(use.times);
    cost.bytes += use.bytes;
  }
  return cost;
}

Trained training_loop(const Cnn& model, const Batch& all, std::int64_t devices, std::int64_t batch,
                      std::int64_t epochs) {
  auto adam = optim::adam(1e-3);
  auto step = make_train_step(adam);
  State state = replicated_state(model, 1e-3, devices).rows;
  Trained t;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    double loss = 0, accuracy = 0;
    std::int64_t n = 0;
    for (const Batch& b : load(all, batch)) {
      if (b.label.length() != batch) continue;  // a partial batch would be a second program
      auto [next, l, metrics] = step(state, ts::data::shard_batch(b, devices));
      state = next;
      loss += ts::item<double>(l[0]);  // of the first device: all are equal
      accuracy += ts::item<double>(metrics.accuracy[0]);
      ++n;
    }
    t.epochs.push_back({loss / double(n), accuracy / double(n), n});
  }
  t.state = ts::unreplicate(state);
  return t;
}

}  // namespace training_techniques
