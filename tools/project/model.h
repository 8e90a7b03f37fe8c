// Points on two spirals, a network that tells the spirals apart, and the step that trains it.
#pragma once

#include <tessera/tessera.h>

#include <utility>

namespace spirals {

namespace ts = tessera;
using ts::Array;

/// Points (count, 2) and the number of the spiral that each lies on, int32 (count,).
struct Points {
  Array positions, labels;
};

/// Draws points at random places of both spirals.
inline Points draw_points(const Array& key, std::int64_t count) {
  auto [of_place, of_label] = ts::random::split(key);
  Array place = ts::random::uniform(of_place, {count}, ts::float32, 0.2, 1.0);
  Array labels = ts::astype(ts::random::bernoulli(of_label, 0.5, ts::Shape{count}), ts::int32);
  Array angle = ts::pi * (3 * place + labels);
  return {ts::stack({place * ts::cos(angle), place * ts::sin(angle)}, 1), labels};
}

/// A model is a plain struct of layers and arrays.
struct Model {
  ts::nn::MLP network;
};

inline Model make_model(const Array& key) { return {ts::nn::mlp(key, {2, 64, 64, 2}, "tanh")}; }

/// The mean cross-entropy over the points.
inline Array loss_of(const Model& model, const Points& points) {
  return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(model.network(points.positions),
                                                                    points.labels));
}

/// The share of points whose spiral the model recognises.
inline Array accuracy_of(const Model& model, const Points& points) {
  return ts::mean(ts::argmax(model.network(points.positions), 1) == points.labels);
}

struct Training {
  Model model;
  ts::optim::State optimizer;
};

inline const ts::optim::Optimizer& optimizer() {
  static const ts::optim::Optimizer adam = ts::optim::adam(1e-2);
  return adam;
}

inline Training start(const Array& key) {
  Model model = make_model(key);
  return {model, optimizer().init(model)};
}

/// One step: the next state and the loss before it. It is traced once and compiled, and donating
/// the state lets the new one take its memory.
inline const auto& step() {
  static const auto compiled = ts::jit(
      [](const Training& now, const Points& points) {
        auto [loss, gradients] = ts::value_and_grad(loss_of)(now.model, points);
        auto [updates, next] = optimizer().update(gradients, now.optimizer, now.model);
        return std::pair(Training{ts::optim::apply_updates(now.model, updates), next}, loss);
      },
      {.donate = {0}});
  return compiled;
}

}  // namespace spirals
