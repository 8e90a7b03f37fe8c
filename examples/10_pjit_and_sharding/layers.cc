#include "cells.h"

namespace pjit_and_sharding {

Linear init_linear(Array key, std::int64_t input_size, std::int64_t output_size) {
  auto [w_key, b_key] = ts::random::split<2>(key);
  return {ts::random::normal(w_key, {input_size, output_size}) * 0.1, ts::zeros({output_size})};
}

Array linear_forward(const Linear& params, Array x) { return ts::dot(x, params.w) + params.b; }

ts::Jit<decltype(&linear_forward)> parallel_linear(const Mesh& line) {
  // The function is made in the scope of a mesh and called after the end of the scope; it keeps the
  // mesh.
  const auto scope = ts::use_mesh(line);
  return ts::pjit(linear_forward,
                  {.in_shardings = {{P(none, "x"), P("x")}, P()}, .out_shardings = P(none, "x")});
}

Mlp init_mlp(Array key, const std::vector<std::int64_t>& layer_sizes) {
  Mlp params;
  Array keys = ts::random::split(key, static_cast<std::int64_t>(layer_sizes.size()) - 1);
  for (std::size_t i = 0; i + 1 < layer_sizes.size(); ++i)
    params.push_back(init_linear(keys[i], layer_sizes[i], layer_sizes[i + 1]));
  return params;
}

Array mlp_forward(const Mlp& params, Array x) {
  for (std::size_t i = 0; i + 1 < params.size(); ++i)
    x = ts::nn::relu(linear_forward(params[i], x));
  return linear_forward(params.back(), x);
}

ts::Jit<decltype(&mlp_forward)> parallel_mlp(const Mesh& line, const Mlp& params) {
  auto param_sharding =
      ts::specs(params, {{"0/w", P(none, "x")},  // each device computes some features
                         {"0/b", P("x")},
                         {"1/w", P("x", none)},  // and multiplies the same ones
                         {"**", P()}});
  // The partial sums of the second layer are added on the device of their row, so the last layer
  // shards the batch.
  return ts::pjit(mlp_forward,
                  {.mesh = line, .in_shardings = {param_sharding, P()}, .out_shardings = P("x")});
}

std::string refusal_of_mlp_by_columns(const Mesh& line, const Mlp& params, Array x) {
  auto param_sharding = ts::specs(params, {{"*/w", P(none, "x")}, {"*/b", P("x")}});
  auto by_columns = ts::pjit(
      mlp_forward,
      {.mesh = line, .in_shardings = {param_sharding, P()}, .out_shardings = P(none, "x")});
  try {
    by_columns(params, x);
  } catch (const ts::ShardingError& e) {
    return e.what();
  }
  return "nothing: it divides";
}

Array efficient_linear(Array w, Array x) {
  auto chunked_computation = ts::remat([](Array w_chunk, Array x) { return ts::dot(x, w_chunk); });
  return chunked_computation(w, x);
}

ts::Jit<decltype(&efficient_linear)> efficient_layer(const Mesh& line) {
  return ts::pjit(
      efficient_linear,
      {.mesh = line, .in_shardings = {P("x", none), P()}, .out_shardings = P(none, "x")});
}

Memory memory_of_gradient(const Mesh& line) {
  auto layer = [](Array w, Array x) { return ts::nn::gelu(ts::dot(x, w)); };
  auto temporaries = [&](auto layer) {
    auto loss = [layer](const std::vector<Array>& ws, Array x) {
      for (const Array& w : ws) x = layer(w, x);
      return ts::sum(x);
    };
    auto gradient = ts::pjit(ts::grad(loss),
                             {.mesh = line, .in_shardings = {P(), P("x")}, .out_shardings = P()});
    const std::vector<Array> ws(8, ts::abstract(ts::f32, {64, 64}));
    return gradient.lower(ws, ts::abstract(ts::f32, {2048, 64})).memory().temporaries;
  };
  return {temporaries(layer), temporaries(ts::remat(layer))};
}

}  // namespace pjit_and_sharding
