// The cells of the document, each a function that gives what it shows. They run on all devices:
// leading axes have device_count() entries.
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
/// One matrix product a device, and the same ones in a loop.
Products matrix_products();

/// x once a device, along a new leading axis. Stored once.
Array replicate_across_devices(Array x);
/// Cuts the first axis into one part a device. A view.
Array shard_across_devices(Array x);
struct Placement {
  Array param, replicated_params, data, sharded_data, result;
};
Placement place_and_compute();

struct Reductions {
  Array local_sum, global_sum, global_mean;
};
/// Each device's sum of its row, and the sum and mean of all rows, on every device.
Reductions sums_and_means(Array test_data);

// --- network.cc
struct Layer {
  Array w, b;
};
using Params = std::vector<Layer>;
Params init_mlp_params(Array key, const std::vector<std::int64_t>& layer_sizes);
/// tanh after every layer but the last.
Array mlp_forward(const Params& params, Array x);

struct Forward {
  Array inputs, outputs;
};
/// The same parameters on every device, one row of inputs each.
Forward forward_pass(const Params& params);

// --- training.cc
Array loss_fn(const Params& params, Array x, Array y);

/// A step of gradient descent; a functor, because a function pointer loses the default of lr.
struct TrainingStep {
  bool synchronised = true;
  std::pair<Params, Array> operator()(Params params, Array x, Array y, Array lr = 0.01) const;
};
/// The mean over the leading axis, which stays with one entry.
Params average_params_across_devices(const Params& params);

struct Training {
  Params new_params;  // a row a device
  Array losses;
  std::vector<std::string> warnings;  // what the library said
};
/// One step on every device's own example.
Training train_once(const Params& params, bool synchronised);

// --- timing.cc
struct Timing {
  Array sequential, parallel;  // the sums, one a row
  double sequential_seconds = 0, parallel_seconds = 0;
};
/// Row after row outside any transformation, and all rows with pmap; seconds of one of `trials`.
Timing benchmark_computation(Array data, int trials = 10);

// --- patterns.cc
/// Row i of `data` times i + 1.
Array device_specific(Array data);
/// Twice the sum of its row on the first device, the mean of theirs on the others.
Array lead_device_differs(Array data);
struct Statistics {
  Array local_mean, global_mean, local_std;
};
/// data (devices, n, features).
Statistics local_and_global_statistics(Array data);

}  // namespace pmap_basics
