#include "cells.h"

namespace pmap_basics {

Addition add_on_each_device() {
  const std::int64_t n = ts::device_count();
  auto pmapped_add = ts::pmap([](Array x, Array y) { return x + y; });
  Array x = ts::arange(n * 4).reshape(n, 4), y = ts::ones({n, 4});
  return {x, y, pmapped_add(x, y)};
}

Products matrix_products() {
  const std::int64_t n = ts::device_count();
  auto pmapped_matmul = ts::pmap([](Array a, Array b) { return ts::dot(a, b); });
  Array a = ts::random::normal(ts::random::key(42), {n, 64, 32});
  Array b = ts::random::normal(ts::random::key(43), {n, 32, 16});
  std::vector<Array> one_by_one;
  for (std::int64_t i = 0; i < n; ++i) one_by_one.push_back(ts::dot(a[i], b[i]));
  return {a, b, pmapped_matmul(a, b), ts::stack(one_by_one)};
}

Array replicate_across_devices(Array x) {
  ts::Shape shape = x.shape();
  shape.insert(shape.begin(), ts::device_count());
  return ts::broadcast_to(x, shape);
}

Array shard_across_devices(Array x) {
  ts::Shape shape = x.shape();
  shape[0] = -1;
  shape.insert(shape.begin(), ts::device_count());
  return x.reshape(shape);
}

Placement place_and_compute() {
  const std::int64_t n = ts::device_count();
  Array param = ts::random::normal(ts::random::key(10), {64, 32});
  Array data = ts::random::normal(ts::random::key(11), {n * 8, 64});
  Array params = replicate_across_devices(param), shards = shard_across_devices(data);
  auto pmapped_compute =
      ts::pmap([](Array params, Array data) { return ts::sum(ts::matmul(data, params), 1); },
               {.in_axes = {0, 0}});
  return {param, params, data, shards, pmapped_compute(params, shards)};
}

Reductions sums_and_means(Array test_data) {
  auto pmapped_reduction = ts::pmap(
      [](Array x) {
        Array local_sum = ts::sum(x);
        Array global_sum = ts::psum(local_sum, "devices");
        // x.size() is a C++ number, so its sum over the devices is known while the function is
        // traced.
        Array global_count = ts::psum(x.size(), "devices");
        return Reductions{local_sum, global_sum, global_sum / global_count};
      },
      {.axis_name = "devices"});
  return pmapped_reduction(test_data);
}

}  // namespace pmap_basics
