// Gradient accumulation, mixed precision, masked batches, learning rates, and reading results
// rarely.
#include "cells.h"

namespace training_techniques {

State accumulate_step(const optim::Optimizer& opt, const State& state,
                      const std::vector<Batch>& batches) {
  // The document mixes two libraries here (state.params, model.apply). The gradients below are
  // those of the model in the state.
  auto step = ts::pmap(
      [opt](State state, std::vector<Batch> batches) {
        if (batches.empty()) throw ts::ShapeError("accumulate_step: there are no microbatches");
        Cnn sum = ts::grad(loss_of)(state.model, batches[0]);
        for (std::size_t i = 1; i < batches.size(); ++i) {
          Cnn grads = ts::grad(loss_of)(state.model, batches[i]);
          sum = ts::tree::map([](Array a, Array g) { return a + g; }, sum, grads);
        }
        Cnn mean = ts::tree::map([&](Array g) { return g / batches.size(); }, sum);
        // There is one all-reduce for all microbatches.
        return state.apply_gradients(opt, ts::pmean(mean, kDevices));
      },
      {.axis_name = kDevices, .in_axes = {ts::replicated, 0}, .out_axes = ts::replicated});
  return step(state, batches);
}

namespace {

using Loss = Array (*)(const Cnn&, const Batch&);

Stepped step_with(Loss loss_fn, const optim::Optimizer& opt, const State& state,
                  const Batch& batch) {
  auto step = ts::pmap(
      [opt, loss_fn](State state, Batch batch) {
        auto [loss, grads] = ts::value_and_grad(loss_fn)(state.model, batch);
        grads = ts::pmean(grads, kDevices);
        return Stepped{state.apply_gradients(opt, grads), ts::pmean(loss, kDevices)};
      },
      {.axis_name = kDevices, .in_axes = {ts::replicated, 0}, .out_axes = ts::replicated});
  return step(state, batch);
}

Array mixed_precision_loss(const Cnn& model, const Batch& batch) {
  // Casting only the images does not make the arithmetic bfloat16, as the document claims: float32
  // weights times bfloat16 inputs promote to float32. Setting the layers' dtype does.
  Array logits = model(batch.image.astype(ts::bf16));
  // The loss, its mean, and the sums of the gradients over the devices are float32.
  logits = logits.astype(ts::f32);
  return ts::mean(nn::softmax_cross_entropy(logits, ts::one_hot(batch.label, 10)));
}

}  // namespace

Stepped plain_step(const optim::Optimizer& opt, const State& state, const Batch& batch) {
  return step_with(loss_of, opt, state, batch);
}

Stepped mixed_precision_step(const optim::Optimizer& opt, const State& state, const Batch& batch) {
  return step_with(mixed_precision_loss, opt, state, batch);
}

Stepped masked_step(const optim::Optimizer& opt, const State& state, const Batch& batch,
                    Array mask) {
  auto step = ts::pmap(
      [opt](State state, Batch batch, Array mask) {
        // The document divides by the device's own mask.sum() and takes pmean. This gives a device
        // with one example the weight of a full one, and is 0 / 0 on a device that has none. If
        // they are divided by the sum over all devices, losses and gradients add up to those of the
        // whole batch.
        Array count = ts::psum(ts::sum(mask), kDevices);
        auto loss_fn = [&](const Cnn& model) {
          Array logits = model(batch.image);
          Array loss = nn::softmax_cross_entropy(logits, ts::one_hot(batch.label, 10));
          return ts::sum(loss * mask) / count;
        };
        auto [loss, grads] = ts::value_and_grad(loss_fn)(state.model);
        grads = ts::psum(grads, kDevices);
        return Stepped{state.apply_gradients(opt, grads), ts::psum(loss, kDevices)};
      },
      {.axis_name = kDevices, .in_axes = {ts::replicated, 0, 0}, .out_axes = ts::replicated});
  return step(state, batch, mask);
}

Array document_masked_loss(const Cnn& model, const Batch& batch, Array mask) {
  return ts::pmap(
      [](Cnn model, Batch batch, Array mask) {
        Array logits = model(batch.image);
        Array loss = nn::softmax_cross_entropy(logits, ts::one_hot(batch.label, 10));
        return ts::pmean(ts::sum(loss * mask) / ts::sum(mask), kDevices);
      },
      {.axis_name = kDevices, .in_axes = {ts::replicated, 0, 0}, .out_axes = ts::replicated})(
      model, batch, mask);
}

Array uneven_mask(std::int64_t devices, std::int64_t n) {
  return ts::zeros({devices, n}).at(ts::all, 0).set(1).at(0).set(1);
}

Rates try_rates(const Cnn& model, const Batch& batch,
                const std::vector<std::optional<double>>& rates) {
  // A lambda keeps its default arguments. A rate that is an Array is traced, so that all rates
  // share one program; without it the default is a constant of the program.
  auto step = ts::pmap(
      [](Cnn model, Batch batch, Array lr = 0.001) {
        Cnn grads = ts::pmean(ts::grad(loss_of)(model, batch), kDevices);
        return ts::tree::map([&](Array p, Array g) { return p - lr * g; }, model, grads);
      },
      {.axis_name = kDevices,
       .in_axes = {ts::replicated, 0, ts::replicated},
       .out_axes = ts::replicated});
  Rates r;
  Batch whole = ts::tree::map(
      [](Array x) {
        ts::Shape shape(x.shape().begin() + 1, x.shape().end());
        shape[0] *= x.shape(0);
        return x.reshape(shape);
      },
      batch);
  for (auto rate : rates) {
    Cnn next = rate ? step(model, batch, *rate) : step(model, batch);
    r.losses.push_back(loss_of(next, whole));
  }
  r.traces = step.trace_count();
  return r;
}

std::vector<std::pair<std::int64_t, float>> log_sometimes(const Cnn& model, const Batch& batch,
                                                          std::int64_t steps, std::int64_t every) {
  auto adam = optim::adam(1e-3);
  auto step = ts::pmap(
      [adam](State state, Batch batch) {
        auto [loss, grads] = ts::value_and_grad(loss_of)(state.model, batch);
        grads = ts::pmean(grads, kDevices);
        return Stepped{state.apply_gradients(adam, grads), ts::pmean(loss, kDevices)};
      },
      {.axis_name = kDevices, .in_axes = {ts::replicated, 0}, .out_axes = ts::replicated});
  State state = optim::train_state(model, adam);
  std::vector<std::pair<std::int64_t, float>> log;
  for (std::int64_t i = 0; i < steps; ++i) {
    Stepped s = step(state, batch);
    state = s.state;
    // A call returns before it has run, and reading a value waits for it, so the loss is read
    // rarely.
    if (i % every == 0) log.push_back({i, ts::item<float>(s.loss)});
  }
  return log;
}

}  // namespace training_techniques
