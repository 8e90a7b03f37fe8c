#include "cells.h"

namespace pmap_basics {

Array loss_fn(const Params& params, Array x, Array y) {
  return ts::mean(ts::square(mlp_forward(params, x) - y));
}

std::pair<Params, Array> TrainingStep::operator()(Params params, Array x, Array y, Array lr) const {
  auto [loss, grads] = ts::value_and_grad(loss_fn)(params, x, y);
  // The document's step has no collective, so each device follows its own example and the copies of
  // the parameters drift apart. The intended step is the one on all examples.
  if (synchronised) grads = ts::pmean(grads, "devices");
  auto new_params = ts::tree::map([&](Array p, Array g) { return p - lr * g; }, params, grads);
  return {new_params, loss};
}

Params average_params_across_devices(const Params& params) {
  return ts::tree::map([](Array p) { return ts::mean(p, 0, true); }, params);
}

Training train_once(const Params& params, bool synchronised) {
  Training t;
  ts::WarningHandler before =
      ts::set_warning_handler([&](const std::string& text) { t.warnings.push_back(text); });
  auto pmapped_train_step =
      ts::pmap(TrainingStep{synchronised},
               {.axis_name = "devices", .in_axes = {replicated, 0, 0, replicated}});
  const std::int64_t n = ts::device_count();
  Array x = ts::random::normal(ts::random::key(30), {n, 784});
  Array y = ts::random::normal(ts::random::key(31), {n, 10});
  std::tie(t.new_params, t.losses) = pmapped_train_step(params, x, y);  // lr is 0.01
  ts::set_warning_handler(before);
  return t;
}

}  // namespace pmap_basics
