#include "cells.h"

#include <cmath>

namespace pmap_intro {

Array squares(Array x) {
  return ts::pmap([](Array row) { return ts::square(row); })(x);
}

Array sum_over_default_axis(Array x) {
  // Without axis_name the axis is called "i". (The document says that of JAX, where it has no
  // name.)
  return ts::pmap([](Array row) { return ts::psum(ts::sum(row), "i"); })(x);
}

Array shared_parameters(Affine p, Array x) {
  return ts::pmap([](Affine p, Array row) { return ts::dot(row, p.w) + p.b; },
                  {.in_axes = {ts::replicated, 0}})(p, x);
}

Array mixed_axes(Array arg1, Array arg2, Array arg3) {
  return ts::pmap([](Array a, Array b, Array c) { return a * b + c; },
                  {.in_axes = {0, ts::replicated, 0}})(arg1, arg2, arg3);
}

Combined combine(Array x) {
  return ts::pmap(
      [](Array row) {
        Array own = ts::sum(row);
        return Combined{own, ts::psum(own, "devices"), ts::pmean(own, "devices"),
                        ts::pmax(own, "devices")};
      },
      {.axis_name = "devices"})(x);
}

Array Mlp::operator()(Array x) const {
  for (std::size_t i = 0; i + 1 < layers.size(); ++i)
    x = ts::tanh(ts::dot(x, layers[i].w) + layers[i].b);
  return ts::dot(x, layers.back().w) + layers.back().b;
}

Mlp init_mlp(Array key, const std::vector<std::int64_t>& sizes) {
  Mlp model;
  Array keys = ts::random::split(key, static_cast<std::int64_t>(sizes.size()) - 1);
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    Array w = ts::random::normal(keys[i], {sizes[i], sizes[i + 1]});
    model.layers.push_back({w / std::sqrt(double(sizes[i])), ts::zeros({sizes[i + 1]})});
  }
  return model;
}

Array mse(const Mlp& model, Array x, Array y) { return ts::mean(ts::square(model(x) - y)); }

std::pair<Array, Array> make_data(Array key, std::int64_t n) {
  auto [x_key, noise_key] = ts::random::split<2>(key);
  Array x = ts::random::uniform(x_key, {n, 1}, ts::f32, -1.0, 1.0);
  Array y = ts::sin(3 * x) + 0.05 * ts::random::normal(noise_key, {n, 1});
  return {x, y};
}

Training train(Array key, Array x, Array y, std::int64_t devices, std::int64_t steps) {
  // 1. Initialise once, then give every device a copy of each leaf: parameters, moments and
  // counters.
  auto adam = optim::adam(1e-2);
  State state = optim::train_state(init_mlp(key, {1, 16, 16, 1}), adam);
  Training t{ts::replicate(state, devices), {}};

  // 2. Shard the batch: (n, 1) becomes (devices, n / devices, 1).
  Array xs = ts::data::shard_batch(x, devices), ys = ts::data::shard_batch(y, devices);

  // 3. Define the step that every device runs.
  auto pmapped_train_step = ts::pmap(
      [adam](State state, Array x, Array y) {
        auto [loss, grads] = ts::value_and_grad(mse)(state.model, x, y);
        grads = ts::pmean(grads, "devices");
        loss = ts::pmean(loss, "devices");
        return std::pair(state.apply_gradients(adam, grads), loss);
      },
      {.axis_name = "devices"});

  // 4. Run the loop. A result is the next call's argument; only the loss is gathered.
  for (std::int64_t i = 0; i < steps; ++i) {
    auto [next, loss] = pmapped_train_step(t.replicated, xs, ys);
    t.replicated = next;
    t.losses.push_back(ts::item<float>(loss[0]));  // equal on all devices
  }
  return t;
}

State gather(const Training& t) {
  // tree::map with x[0] would take the first device's rows; unreplicate also checks that all rows
  // are equal.
  return ts::unreplicate(t.replicated);
}

}  // namespace pmap_intro
