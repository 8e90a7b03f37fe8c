// The effect of pmean, and two ways to build an all-reduce from messages.
#include "cells.h"

namespace training_techniques {

Array after_pmean(Array grads) {
  return ts::pmap([](Array g) { return ts::pmean(g, kDevices); }, {.axis_name = kDevices})(grads);
}

namespace {

/// Sends from every device to its neighbour: 0 -> 1 -> 2 -> ... -> 0.
ts::Permutation ring(std::int64_t devices) {
  ts::Permutation pairs;
  for (std::int64_t i = 0; i < devices; ++i) pairs.push_back({i, (i + 1) % devices});
  return pairs;
}

}  // namespace

std::vector<Array> ring_all_reduce(Array x) {
  return ts::pmap(
      [](Array own) {
        const std::int64_t n = ts::axis_size(kDevices);
        std::vector<Array> held{own};
        Array passing = own;
        for (std::int64_t time = 1; time < n; ++time) {
          passing = ts::ppermute(passing, kDevices, ring(n));
          held.push_back(held.back() + passing);
        }
        return held;
      },
      {.axis_name = kDevices})(x);
}

Array scatter_gather_all_reduce(Array x) {
  return ts::pmap(
      [](Array own) {
        Array part = ts::psum_scatter(own, kDevices, {.tiled = true});
        return ts::all_gather(part, kDevices, {.tiled = true});
      },
      {.axis_name = kDevices})(x);
}

}  // namespace training_techniques
