#include "cells.h"

namespace pjit_and_sharding {

Array loss_fn(const Linear& params, Array x, Array y) {
  return ts::mean(ts::square(linear_forward(params, x) - y));
}

std::pair<Linear, Array> training_step(const Linear& params, Array x, Array y, Array lr) {
  auto [loss, grads] = ts::value_and_grad(loss_fn)(params, x, y);
  Linear new_params = ts::tree::map([&](Array p, Array g) { return p - lr * g; }, params, grads);
  return {new_params, loss};
}

ts::Jit<decltype(&training_step)> sharded_training_step(const Mesh& line) {
  const ts::SpecTree param_spec = {P("x", none), P()};  // w, b
  return ts::pjit(training_step, {.mesh = line,
                                  .in_shardings = {param_spec, P(), P(), P()},
                                  .out_shardings = {param_spec, P()}});
}

}  // namespace pjit_and_sharding
