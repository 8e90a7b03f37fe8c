#include "cells.h"

namespace single_host_sharding {

Scaled scale_on_each_device() {
  const std::int64_t n = ts::device_count();
  Array x = ts::arange(n * 4, ts::f32).reshape(n, 4);
  Array factors = 10.0 * (ts::arange(n) + 1);
  auto pmapped_scale = ts::pmap([](Array x_shard, Array factor) { return x_shard * factor; },
                                {.axis_name = "i", .in_axes = {0, 0}});
  return {x, factors, pmapped_scale(x, factors)};
}

Array global_data() {
  // The document draws from NumPy's global generator. Numbers drawn from a key are the same in
  // every run.
  return ts::random::uniform(ts::random::key(0), {8 * ts::device_count(), 3});
}

Prepared prepare(Array global) {
  const std::int64_t n = ts::device_count();
  std::vector<Array> parts = ts::split(global, n);
  return {ts::stack(parts), global.reshape(n, global.shape(0) / n, global.shape(1))};
}

}  // namespace single_host_sharding
