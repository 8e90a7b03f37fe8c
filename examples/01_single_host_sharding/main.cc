// Data parallelism on one host with pmap: how data reaches the devices, how results come back, how
// devices communicate, and how much memory it takes.
#include "cells.h"
#include "common/command_line.h"
#include "common/outputs.h"

#include <cstdio>
#include <iostream>

using namespace single_host_sharding;

namespace {

void section(const char* title) { std::cout << "\n== " << title << "\n"; }
std::string shape(const Array& x) { return ts::to_string(x.shape()); }

void sections_1_and_2() {
  section("1. The essence of pmap");
  Scaled s = scale_on_each_device();
  std::cout << "Input x:\n" << s.x << "\n";
  std::cout << "Input scale factors: " << s.factors << "\n";
  std::cout << "Result (from all devices, stacked):\n" << s.result << "\n";
  std::cout << "Result shape: " << shape(s.result) << "\n";

  section("2. Preparing data");
  Array global = global_data();
  Prepared p = prepare(global);
  std::cout << "Global data shape: " << shape(global) << "\n";
  std::cout << "Shape after stack(split(...)): " << shape(p.stacked) << "\n";
  std::cout << "Shape after reshape: " << shape(p.reshaped) << "\n";
  std::cout << "Both hold the same: " << ts::array_equal(p.stacked, p.reshaped) << "\n";
}

void sections_3_and_4(Array prepared, Array scalar) {
  section("3. in_axes");
  Array result = process_on_all_devices(prepared, scalar);
  std::cout << "Input data shape: " << shape(prepared) << "\n";
  std::cout << "Replicated param: " << scalar << "\n";
  std::cout << "Result:\n" << result << "\n";
  std::cout << "Result shape: " << shape(result) << "\n";
  NothingMapped n = nothing_mapped();
  std::cout << "Nothing mapped, on all devices: " << n.on_all << "\n";
  std::cout << "Nothing mapped, axis_size = 2: " << n.on_two << "\n";
  std::cout << "Nothing mapped, listed devices: " << n.on_listed << " on "
            << n.on_listed.sharding().devices() << "\n";

  section("4. out_axes");
  Array scalars = scalar_of_each_device(prepared, scalar);
  std::cout << "A scalar of each device, stacked: " << scalars << "\n";
  std::cout << "Shape: " << shape(scalars) << "\n";
  Array identical = identical_result();
  std::cout << "Identical result (out_axes = replicated): " << identical << "\n";
  std::cout << "Shape: " << shape(identical) << "\n";
}

void section_5(Array prepared) {
  section("5. Static arguments");
  // A static argument has an entry in in_axes, which is ignored.
  auto pmapped_static_op = ts::pmap(static_op, {.in_axes = {0, replicated, replicated}});
  Array shards = prepared(ts::all, ts::all, 0), offset = ts::array(0.5f);
  for (int value : {7, 3, 7}) {
    std::cout << "Calling with static_value = " << value << "\n";
    Array result = pmapped_static_op(shards, value, offset);
    std::cout << "First element of each device: " << result(ts::all, 0) << "\n";
  }
  std::cout << "Traced " << pmapped_static_op.trace_count() << " times\n";

  auto pmapped_sum = ts::pmap(sum_of_features, {.in_axes = {0, replicated}});
  for (Array features : {ts::array({0, 2}), ts::array({1}), ts::array({0, 2})})
    std::cout << "Features " << features
              << ", first row of each device: " << pmapped_sum(prepared, features)(ts::all, 0)
              << "\n";
  std::cout << "Traced " << pmapped_sum.trace_count() << " times: equal contents are one key\n";
  std::cout << "A large static array is allowed, with a warning:\n"
            << warning_of_large_static(100000) << "\n";
}

void section_6(Array global, Array scalar) {
  section("6. Some of the devices");
  std::vector<ts::Device> devices = ts::devices();
  std::cout << "All devices: " << devices << "\n";
  devices.resize(std::max<std::size_t>(1, devices.size() / 2));
  std::cout << "Devices to use: " << devices << "\n";
  const auto n = static_cast<std::int64_t>(devices.size());
  Array subset = global(ts::until(n * 8)).reshape(n, 8, 3);
  Array result = process_on_devices(subset, scalar, devices);
  std::cout << "Input data shape: " << shape(subset) << "\n";
  std::cout << "Result:\n" << result << "\n";
  std::cout << "Result shape: " << shape(result) << "\n";
}

void section_7(Array prepared, Array global) {
  section("7. Collectives");
  Array weights = ts::random::uniform(ts::random::key(1), {3, 2});
  Combined c = combine(prepared, weights);
  std::cout << "Model weights (replicated) shape: " << shape(weights) << "\n";
  std::cout << "psum, shape: " << shape(c.sum) << "\n";
  std::cout << "  equal on the first and the last device: " << ts::array_equal(c.sum[0], c.sum[-1])
            << "\n  first row: " << c.sum(0, 0) << "\n";
  std::cout << "pmean of one value, shape: " << shape(c.mean_of_one) << "\n";
  std::cout << "  on the first device: " << c.mean_of_one[0] << "\n";
  std::cout << "  equal on the first and the last device: "
            << ts::array_equal(c.mean_of_one[0], c.mean_of_one[-1]) << "\n";
  std::cout << "all_gather of first rows, shape: " << shape(c.first_rows) << "\n";
  std::cout << "  as seen by the first device:\n" << c.first_rows[0] << "\n";
  std::cout << "  equal on the first and the last device: "
            << ts::array_equal(c.first_rows[0], c.first_rows[-1]) << "\n";
  std::cout << "all_gather, tiled, shape: " << shape(c.whole) << "\n";
  std::cout << "  it is the whole product: " << ts::allclose(c.whole[0], ts::dot(global, weights))
            << "\n";
}

void section_8() {
  section("8. Memory");
  Memory m = memory_of_data_parallelism();
  const std::string all = std::to_string(ts::device_count()) + " devices";
  std::printf("%-20s %14s %14s %14s\n", "bytes", "each device", all.c_str(), "this process");
  for (const Footprint& f : m.rows)
    std::printf("%-20s %14lld %14lld %14lld\n", f.what.c_str(),
                static_cast<long long>(f.each_device), static_cast<long long>(f.all_devices),
                static_cast<long long>(f.process));
  std::printf("%-20s %14s %14s %14lld\n", "temporaries", "-", "-",
              static_cast<long long>(m.temporaries));
  std::cout << m.table;
}

void show() {
  section("Devices");
  std::cout << "Tessera version: " << ts::version() << "\n";
  std::cout << "Default backend: " << ts::default_backend() << "\n";
  std::cout << "Number of devices: " << ts::device_count() << "\n";
  std::cout << "Available devices: " << ts::devices() << "\n";

  sections_1_and_2();
  Array global = global_data(), prepared = prepare(global).reshaped, scalar = ts::array(5.0f);
  sections_3_and_4(prepared, scalar);
  section_5(prepared);
  section_6(global, scalar);
  section_7(prepared, global);
  section_8();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Data parallelism on one host with pmap, section by section"};
  int devices = 4;
  add_devices(app, devices, 256);
  return run_example(app, argc, argv, [&] {
    use_devices(devices);
    leave_reports_to_the_first();
    show();
    return 0;
  });
}
