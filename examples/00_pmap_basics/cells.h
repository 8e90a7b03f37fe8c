// The cells of the document. Each is a function that returns the values that its cell shows. They
// run on all devices: leading axes have device_count() entries.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pmap_basics {

namespace ts = tessera;
using ts::Array;
using ts::replicated;

// --- basics.cc
struct Addition {
  Array x, y, result;
};
Addition add_on_each_device();

struct Products {
  Array a, b, parallel, sequential;
};
/// Computes one matrix product on each device, and the same products in a loop.
Products matrix_products();

/// Returns x once per device, along a new leading axis. The data is stored once.
Array replicate_across_devices(Array x);
/// Splits the first axis into one shard per device, without copying.
Array shard_across_devices(Array x);
struct Placement {
  Array param, replicated_params, data, sharded_data, result;
};
Placement place_and_compute();

struct Reductions {
  Array local_sum, global_sum, global_mean;
};
/// Returns on every device the sum of its own row, and the sum and the mean of all rows.
Reductions sums_and_means(Array test_data);

// --- network.cc
struct Layer {
  Array w, b;
};
using Params = std::vector<Layer>;
Params init_mlp_params(Array key, const std::vector<std::int64_t>& layer_sizes);
/// Applies tanh after every layer except the last.
Array mlp_forward(const Params& params, Array x);

struct Forward {
  Array inputs, outputs;
};
/// Runs the same parameters on every device, each with one row of inputs.
Forward forward_pass(const Params& params);

// --- training.cc
Array loss_fn(const Params& params, Array x, Array y);

/// A step of gradient descent. It is a functor because a function pointer loses the default value
/// of lr.
struct TrainingStep {
  bool synchronised = true;
  std::pair<Params, Array> operator()(Params params, Array x, Array y, Array lr = 0.01) const;
};
/// Averages over the leading axis, which stays, with one entry.
Params average_params_across_devices(const Params& params);

struct Training {
  Params new_params;  // one row per device
  Array losses;
  std::vector<std::string> warnings;  // that the library gave
};
/// Takes one step, each device on its own example.
Training train_once(const Params& params, bool synchronised);

// --- timing.cc
struct Timing {
  Array sequential, parallel;  // the sums, one per row
  double sequential_seconds = 0, parallel_seconds = 0;
};
/// Computes row after row without any transformation, and all rows with pmap. The times are the
/// seconds of one of `trials`.
Timing benchmark_computation(Array data, int trials = 10);

// --- patterns.cc
/// Multiplies row i of `data` by i + 1.
Array device_specific(Array data);
/// Returns twice the sum of its row on the first device, and the mean of its row on the others.
Array lead_device_differs(Array data);
struct Statistics {
  Array local_mean, global_mean, local_std;
};
/// Takes data of shape (devices, n, features).
Statistics local_and_global_statistics(Array data);

}  // namespace pmap_basics
