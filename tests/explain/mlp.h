// A sharded multilayer perceptron whose plan has figures that can be computed by hand.
#pragma once

#include <tessera/tessera.h>

#include <algorithm>
#include <string>
#include <vector>

namespace by_hand {

namespace ts = tessera;
using ts::Array;
using ts::none;
using ts::P;

inline const ts::Mesh grid = ts::Mesh::abstract({{"data", 2}, {"model", 2}});

// Every link has a latency of a microsecond and moves a byte per nanosecond, and so do arithmetic
// and memory.
inline ts::PlanOptions slow() {
  ts::PlanOptions options;
  options.other_links = {1e-6, 1e9};
  options.peak_flops = 1e9;
  options.memory_bandwidth = 1e9;
  return options;
}

inline Array mlp(Array x, Array w1, Array w2) {
  return ts::dot(ts::maximum(ts::dot(x, w1), 0), w2);
}

inline auto sharded_mlp(const ts::Mesh& mesh) {
  return ts::jit(mlp, {.mesh = mesh,
                       .in_shardings = {P("data"), P(none, "model"), P("model")},
                       .out_shardings = P("data"),
                       .name = "mlp"});
}
inline const Array x = ts::abstract(ts::f32, {8, 16}), w1 = ts::abstract(ts::f32, {16, 32}),
                   w2 = ts::abstract(ts::f32, {32, 16});

// The collectives of each value, even if several values travel in one.
inline std::vector<std::string> listed(const ts::Plan& plan) {
  std::vector<std::string> all;
  for (const ts::PlannedCollective& c : plan.collectives)
    for (const ts::PlannedValue& v : c.values) {
      std::string text = c.kind;
      for (const std::string& axis : c.axes) text += " " + axis;
      text += " " + std::to_string(v.bytes);
      if (c.times != 1) text += " * " + std::to_string(c.times);
      all.push_back(text);
    }
  std::sort(all.begin(), all.end());
  return all;
}
using Texts = std::vector<std::string>;

}  // namespace by_hand
