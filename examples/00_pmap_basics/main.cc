// An introduction to pmap: the same program runs on several devices, each with its shard of the
// data.
#include "cells.h"
#include "common/command_line.h"
#include "common/outputs.h"

#include <cstdio>
#include <iostream>

using namespace pmap_basics;

namespace {

void cell(const char* title) { std::cout << "\n== " << title << "\n"; }

void show() {
  const std::int64_t n_devices = ts::device_count();

  cell("Basic pmap usage");
  std::cout << "Available devices: " << ts::devices() << "\n";
  std::cout << "Device count: " << n_devices << "\n";
  Addition add = add_on_each_device();
  std::cout << "Input x shape: " << ts::to_string(add.x.shape()) << "\n";
  std::cout << "Input y shape: " << ts::to_string(add.y.shape()) << "\n";
  std::cout << "Result shape: " << ts::to_string(add.result.shape()) << "\n";
  std::cout << "Result:\n" << add.result << "\n";
  std::cout << "Result lies on: " << add.result.sharding() << "\n";

  cell("Matrix operations");
  Products products = matrix_products();
  std::cout << "A shape: " << ts::to_string(products.a.shape()) << "\n";
  std::cout << "B shape: " << ts::to_string(products.b.shape()) << "\n";
  std::cout << "Result shape: " << ts::to_string(products.parallel.shape()) << "\n";
  std::cout << "Results match: " << ts::allclose(products.parallel, products.sequential) << "\n";

  cell("Neural network forward pass");
  Params params = init_mlp_params(ts::random::key(0), {784, 256, 128, 10});
  Forward forward = forward_pass(params);
  std::cout << "Input shape: " << ts::to_string(forward.inputs.shape()) << "\n";
  std::cout << "Output shape: " << ts::to_string(forward.outputs.shape()) << "\n";

  cell("Device placement and replication");
  Placement p = place_and_compute();
  std::cout << "Original param shape: " << ts::to_string(p.param.shape()) << "\n";
  std::cout << "Replicated param shape: " << ts::to_string(p.replicated_params.shape()) << "\n";
  std::cout << "Original data shape: " << ts::to_string(p.data.shape()) << "\n";
  std::cout << "Sharded data shape: " << ts::to_string(p.sharded_data.shape()) << "\n";
  std::cout << "Computation result shape: " << ts::to_string(p.result.shape()) << "\n";

  cell("Reductions over the devices");
  Array test_data = ts::random::normal(ts::random::key(20), {n_devices, 1000});
  Reductions r = sums_and_means(test_data);
  Array expected_sum = ts::sum(test_data), expected_mean = ts::mean(test_data);
  std::cout << "Local sums: " << r.local_sum << "\n";
  std::cout << "Global sum (all devices): " << r.global_sum[0] << "\n";
  std::cout << "Global mean (all devices): " << r.global_mean[0] << "\n";
  std::cout << "Expected sum: " << expected_sum << "\n";
  std::cout << "Expected mean: " << expected_mean << "\n";
  std::cout << "Sum matches: " << ts::allclose(r.global_sum[0], expected_sum) << "\n";
  std::cout << "Mean matches: " << ts::allclose(r.global_mean[0], expected_mean) << "\n";

  cell("Training step");
  Training step = train_once(params, true);
  std::cout << "Losses across devices: " << step.losses << "\n";
  std::cout << "New params: " << ts::tree::structure(step.new_params) << "\n";
  std::cout << "First layer weight shape: " << ts::to_string(step.new_params[0].w.shape()) << "\n";
  Training local = train_once(params, false);
  std::cout << "Without the pmean the library warns:\n";
  for (const std::string& text : local.warnings) std::cout << text << "\n";
  Params averaged = average_params_across_devices(local.new_params);
  std::cout << "Averaged first layer weight shape: " << ts::to_string(averaged[0].w.shape())
            << "\n";
  std::cout << "Averaging parameters after one step gives the same as averaging gradients: "
            << ts::allclose(averaged[0].w[0], step.new_params[0].w[0], 1e-5, 1e-6) << "\n";

  cell("Performance comparison");
  for (std::int64_t size : {1000, 10000, 100000}) {
    Timing t = benchmark_computation(ts::random::normal(ts::random::key(40), {n_devices, size}));
    std::cout << "Data size: " << size << "\n";
    std::printf("  Sequential time: %.6fs\n  Parallel time: %.6fs\n  Speedup: %.2fx\n",
                t.sequential_seconds, t.parallel_seconds,
                t.sequential_seconds / t.parallel_seconds);
    std::cout << "  Sums match: " << ts::allclose(t.sequential, t.parallel) << "\n";
  }

  cell("Common patterns");
  Array ones = ts::ones({n_devices, 10});
  std::cout << "Device-specific results:\n" << device_specific(ones) << "\n";
  std::cout << "Conditional results: " << lead_device_differs(ones) << "\n";
  Statistics s =
      local_and_global_statistics(ts::random::normal(ts::random::key(50), {n_devices, 1000, 64}));
  std::cout << "Efficient pattern results shapes:\n";
  std::cout << "  Local mean: " << ts::to_string(s.local_mean.shape()) << "\n";
  std::cout << "  Global mean: " << ts::to_string(s.global_mean.shape()) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Introduction to pmap, cell by cell"};
  int devices = 4;
  add_devices(app, devices, 256);
  return run_example(app, argc, argv, [&] {
    use_devices(devices);
    leave_reports_to_the_first();
    show();
    return 0;
  });
}
