#include "cells.h"

namespace pmap_basics {

Params init_mlp_params(Array key, const std::vector<std::int64_t>& layer_sizes) {
  // There is one key more than there are layers, as in the document: splitting into another number
  // of keys gives other keys.
  Array keys = ts::random::split(key, static_cast<std::int64_t>(layer_sizes.size()));
  Params params;
  for (std::size_t i = 0; i + 1 < layer_sizes.size(); ++i) {
    auto [w_key, b_key] = ts::random::split<2>(keys[i]);
    params.push_back({ts::random::normal(w_key, {layer_sizes[i], layer_sizes[i + 1]}) * 0.1,
                      ts::zeros({layer_sizes[i + 1]})});
  }
  return params;
}

Array mlp_forward(const Params& params, Array x) {
  for (std::size_t i = 0; i + 1 < params.size(); ++i)
    x = ts::tanh(ts::dot(x, params[i].w) + params[i].b);
  return ts::dot(x, params.back().w) + params.back().b;
}

Forward forward_pass(const Params& params) {
  auto pmapped_forward = ts::pmap(mlp_forward, {.in_axes = {replicated, 0}});
  Array inputs = ts::random::normal(ts::random::key(1), {ts::device_count(), 784});
  return {inputs, pmapped_forward(params, inputs)};
}

}  // namespace pmap_basics
