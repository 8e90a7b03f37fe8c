#include "cells.h"

namespace single_host_sharding {

namespace {

/// The bytes that are alive on the last device, on all devices, and in the process.
Footprint live(std::string what) {
  Footprint f{std::move(what)};
  for (ts::Device d : ts::devices()) {
    f.each_device = ts::memory_stats(d).live;
    f.all_devices += f.each_device;
  }
  f.process = ts::physical_memory_stats().live;
  return f;
}

}  // namespace

Memory memory_of_data_parallelism() {
  Memory m;
  Array key = ts::random::key(2), keys = ts::random::split(ts::random::key(3), ts::device_count());
  ts::block_until_ready(std::pair(key, keys));
  ts::reset_peak_memory();
  Footprint before = live("");
  auto added = [&](const char* what) {
    Footprint now = live(what);
    m.rows.push_back({now.what, now.each_device - before.each_device,
                      now.all_devices - before.all_devices, now.process - before.process});
    before = now;
  };

  // Every array is made where it is used. The weights come from one key on every device.
  Array weights = ts::pmap(
      [](Array key) {
        return ts::random::normal(key, {256, 256}) / 16;
      },
      {.in_axes = replicated, .out_axes = replicated})(key);
  weights.block_until_ready();
  added("replicated weights");
  // The data comes from a different key on each device.
  Array data = ts::pmap([](Array key) { return ts::random::normal(key, {64, 256}); })(keys);
  data.block_until_ready();
  added("shards of data");
  auto layer = ts::pmap([](Array x, Array w) { return ts::tanh(ts::dot(x, w)); },
                        {.in_axes = {0, replicated}});
  Array result = layer(data, weights);
  result.block_until_ready();
  added("results");
  m.temporaries = layer.lower(data, weights).memory().temporaries;
  m.table = ts::memory_table();
  return m;
}

}  // namespace single_host_sharding
