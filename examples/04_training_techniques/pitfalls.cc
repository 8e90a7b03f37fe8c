// The document's pitfalls, and the library's message about each of them.
#include "cells.h"

namespace training_techniques {

namespace {

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const ts::Error& e) {
    return e.what();
  }
  return "nothing was wrong";
}

/// A step of gradient descent without pmean, after which the parameters differ between devices.
Cnn unsynchronised(Cnn model, Batch batch) {
  Cnn grads = ts::grad(loss_of)(model, batch);
  return ts::tree::map([](Array p, Array g) { return p - 0.001 * g; }, model, grads);
}

}  // namespace

std::string batch_not_divisible() {
  return message([] {
    Batch batch{ts::zeros({100, 32, 32, 3}), ts::zeros({100}, ts::i32)};
    ts::data::shard_batch(batch, 8);
  });
}

std::string forgotten_pmean_warning(const Cnn& model, const Batch& batch) {
  std::string heard;
  auto before = ts::set_warning_handler([&](const std::string& text) { heard = text; });
  auto step = ts::pmap(unsynchronised, {.axis_name = kDevices, .in_axes = {ts::replicated, 0}});
  step(model, batch);
  ts::set_warning_handler(before);
  return heard;
}

std::string forgotten_pmean_error(const Cnn& model, const Batch& batch) {
  return message([&] {
    auto step = ts::pmap(
        unsynchronised,
        {.axis_name = kDevices, .in_axes = {ts::replicated, 0}, .out_axes = ts::replicated});
    step(model, batch);
  });
}

std::string forgotten_pmean_gathered(const Cnn& model, const Batch& batch) {
  std::string heard;
  auto before = ts::set_warning_handler([&](const std::string& text) { heard = text; });
  const std::string thrown = message([&] {
    auto step = ts::pmap(unsynchronised, {.axis_name = kDevices});
    Cnn next = step(ts::replicate(model, batch.label.length()), batch);
    ts::unreplicate(next);
  });
  ts::set_warning_handler(before);
  return heard + "\n" + thrown;
}

std::string unnamed_axis(Array grads) {
  return message([&] { ts::pmap([](Array g) { return ts::pmean(g, kDevices); })(grads); });
}

std::string no_device_axis(const Cnn& model, const Batch& batch) {
  return message([&] {
    auto opt = optim::sgd(0.001);
    train_step(opt, ts::replicate(optim::train_state(model, opt), ts::device_count()), batch);
  });
}

}  // namespace training_techniques
