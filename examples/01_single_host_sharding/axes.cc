#include "cells.h"

namespace single_host_sharding {

Array process_data_shard(Array data_shard, Array replicated_scalar) {
  return ts::sum(data_shard * replicated_scalar, 0);
}

Array process_on_all_devices(Array prepared, Array scalar) {
  auto pmapped_process =
      ts::pmap(process_data_shard, {.axis_name = "data_axis", .in_axes = {0, replicated}});
  return pmapped_process(prepared, scalar);
}

Array process_on_devices(Array prepared, Array scalar, const std::vector<ts::Device>& devices) {
  auto pmapped_on_subset =
      ts::pmap(process_data_shard,
               {.axis_name = "data_axis_subset", .in_axes = {0, replicated}, .devices = devices});
  return pmapped_on_subset(prepared, scalar);
}

Array scalar_of_each_device(Array prepared, Array scalar) {
  // out_axes defaults to 0.
  auto pmapped_scalar_output =
      ts::pmap([](Array data_shard, Array param) { return ts::sum(data_shard * param); },
               {.in_axes = {0, replicated}});
  return pmapped_scalar_output(prepared, scalar);
}

Array identical_result() {
  // A constant is the same on all devices, so out_axes = replicated is accepted. A value that
  // depends on a shard would be rejected. The absent argument is an empty optional.
  auto pmapped_identical_output = ts::pmap([](Array, std::optional<Array>) { return Array(42.0); },
                                           {.in_axes = {0, replicated}, .out_axes = replicated});
  return pmapped_identical_output(ts::zeros({ts::device_count(), 1}), std::nullopt);
}

NothingMapped nothing_mapped() {
  auto number = [](Array offset) { return offset + ts::axis_index("i"); };
  const std::vector<ts::Device> all = ts::devices();
  const std::int64_t two = std::min<std::int64_t>(2, ts::device_count());
  auto on_all = ts::pmap(number, {.axis_name = "i", .in_axes = replicated});
  auto on_two = ts::pmap(number, {.axis_name = "i", .in_axes = replicated, .axis_size = two});
  std::vector<ts::Device> listed{all.back()};
  if (all.size() > 1) listed.push_back(all.front());
  auto on_listed = ts::pmap(number, {.axis_name = "i", .in_axes = replicated, .devices = listed});
  return {on_all(100), on_two(100), on_listed(100)};
}

}  // namespace single_host_sharding
