// The cells of the document. Each is a function that returns the values that its cell shows. The
// network is in model.h.
#pragma once

#include "model.h"

#include <string>

namespace training_techniques {

// --- how pmap works, and the state (training.cc)

/// Runs the same function on each device; x is (devices, ...).
Array parallel_function(Array x);

/// The model's state before the first step, and the same state with one row per device.
struct Replicated {
  State state, rows;
};
Replicated replicated_state(const Cnn& model, double rate, std::int64_t devices);

/// The document's train_step. State, batch and results have one row per device.
struct StepResult {
  State state;
  Array loss;
  Metrics metrics;
};
StepResult train_step(const optim::Optimizer& opt, const State& state, const Batch& batch);

/// The mean loss and the accuracy of an epoch, and how many batches it ran.
struct Epoch {
  double loss, accuracy;
  std::int64_t batches;
};
struct Trained {
  State state;  // gathered
  std::vector<Epoch> epochs;
};
/// The training loop, which skips partial batches.
Trained training_loop(const Cnn& model, const Batch& all, std::int64_t devices, std::int64_t batch,
                      std::int64_t epochs);

// --- gradient synchronisation (collectives.cc)

/// Returns the value on every device after pmean; grads is (devices, n).
Array after_pmean(Array grads);
/// Returns the value on every device after each step of a ring all-reduce that passes whole values
/// on; x is (devices, n). The last entry is the sum on all devices.
std::vector<Array> ring_all_reduce(Array x);
/// The bandwidth-optimal all-reduce: a reduce-scatter, then an all-gather. n must be a multiple of
/// the number of devices.
Array scatter_gather_all_reduce(Array x);

/// The cost of train_step's collectives, from its plan: how many there are, and the bytes that each
/// device contributes.
struct Cost {
  std::size_t collectives;
  std::int64_t bytes;
};
Cost communication(const CnnOptions& options, std::int64_t batch);

// --- techniques (techniques.cc). The state is replicated on all devices, the batches are sharded.

/// Takes one step on the mean gradient of several microbatches; each leaf is (devices, n, ...).
State accumulate_step(const optim::Optimizer& opt, const State& state,
                      const std::vector<Batch>& batches);

struct Stepped {
  State state;
  Array loss;
};
/// Takes one step on one batch, for comparison.
Stepped plain_step(const optim::Optimizer& opt, const State& state, const Batch& batch);
/// The same step with bfloat16 images. The dtype of the arithmetic is set by the layers.
Stepped mixed_precision_step(const optim::Optimizer& opt, const State& state, const Batch& batch);

/// Takes one step on the examples whose mask is 1.
Stepped masked_step(const optim::Optimizer& opt, const State& state, const Batch& batch,
                    Array mask);
/// The document's masked loss: the mean over devices of each device's masked mean.
Array document_masked_loss(const Cnn& model, const Batch& batch, Array mask);
/// A mask (devices, n) that keeps n examples on the first device and one on each other device.
Array uneven_mask(std::int64_t devices, std::int64_t n);

/// Runs plain gradient descent, which has a default rate, with each of `rates` in turn; an empty
/// entry means the default. Also returns how often the step was traced.
struct Rates {
  std::vector<Array> losses;  // after the step
  std::size_t traces;
};
Rates try_rates(const Cnn& model, const Batch& batch,
                const std::vector<std::optional<double>>& rates);

/// Trains, and reads the loss only every `every` steps: (step, loss).
std::vector<std::pair<std::int64_t, float>> log_sometimes(const Cnn& model, const Batch& batch,
                                                          std::int64_t steps, std::int64_t every);

// --- pitfalls (pitfalls.cc): the library's whole message for each

std::string batch_not_divisible();
/// The warning about a state that is replicated on the way in and stacked on the way out.
std::string forgotten_pmean_warning(const Cnn& model, const Batch& batch);
/// The error if that state is declared replicated on the way out.
std::string forgotten_pmean_error(const Cnn& model, const Batch& batch);
/// The warning and the error if the state has rows on the way in and out and is then gathered.
std::string forgotten_pmean_gathered(const Cnn& model, const Batch& batch);
/// The error for a pmean over 'devices' in a pmap that does not name this axis, as in the
/// document's own "correct" code.
std::string unnamed_axis(Array grads);
/// The error for a batch that lacks the device axis.
std::string no_device_axis(const Cnn& model, const Batch& batch);

}  // namespace training_techniques
