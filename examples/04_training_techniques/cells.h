// The cells of the document, each a function that gives what it shows. model.h has the network.
#pragma once

#include "model.h"

#include <string>

namespace training_techniques {

// --- how pmap works, and the state (training.cc)

/// x (devices, ...): the same function on each device.
Array parallel_function(Array x);

/// The model's state before the first step, and the same with a row a device.
struct Replicated {
  State state, rows;
};
Replicated replicated_state(const Cnn& model, double rate, std::int64_t devices);

/// The document's train_step: state and batch have a row a device, so have the results.
struct StepResult {
  State state;
  Array loss;
  Metrics metrics;
};
StepResult train_step(const optim::Optimizer& opt, const State& state, const Batch& batch);

/// Mean loss and accuracy of each epoch, and how many batches it ran.
struct Epoch {
  double loss, accuracy;
  std::int64_t batches;
};
struct Trained {
  State state;  // gathered
  std::vector<Epoch> epochs;
};
/// The training loop: partial batches are skipped.
Trained training_loop(const Cnn& model, const Batch& all, std::int64_t devices, std::int64_t batch,
                      std::int64_t epochs);

// --- gradient synchronisation (collectives.cc)

/// grads (devices, n): what every device has after pmean.
Array after_pmean(Array grads);
/// x (devices, n): what every device holds after each step of a ring all-reduce that passes whole
/// values on; the last entry is the sum everywhere.
std::vector<Array> ring_all_reduce(Array x);
/// The bandwidth-optimal form: reduce-scatter, then all-gather. n is a multiple of the devices.
Array scatter_gather_all_reduce(Array x);

/// What the collectives of train_step move, from its plan: how many there are, and the bytes that
/// each device puts in.
struct Cost {
  std::size_t collectives;
  std::int64_t bytes;
};
Cost communication(const CnnOptions& options, std::int64_t batch);

// --- techniques (techniques.cc). The state is shared by all devices, the batches are cut.

/// One step on the mean gradient of several microbatches; each leaf (devices, n, ...).
State accumulate_step(const optim::Optimizer& opt, const State& state,
                      const std::vector<Batch>& batches);

struct Stepped {
  State state;
  Array loss;
};
/// One step on one batch, to compare with.
Stepped plain_step(const optim::Optimizer& opt, const State& state, const Batch& batch);
/// The same with bfloat16 images; what the layers compute in is theirs to say.
Stepped mixed_precision_step(const optim::Optimizer& opt, const State& state, const Batch& batch);

/// One step on the examples whose mask is 1.
Stepped masked_step(const optim::Optimizer& opt, const State& state, const Batch& batch,
                    Array mask);
/// The document's masked loss: the mean over devices of their own masked means.
Array document_masked_loss(const Cnn& model, const Batch& batch, Array mask);
/// (devices, n): the first device has n examples, each other one.
Array uneven_mask(std::int64_t devices, std::int64_t n);

/// Plain gradient descent with a default rate. `rates` are tried one after the other, an empty one
/// stands for the default; how often the step was traced comes back too.
struct Rates {
  std::vector<Array> losses;  // after the step
  std::size_t traces;
};
Rates try_rates(const Cnn& model, const Batch& batch,
                const std::vector<std::optional<double>>& rates);

/// Steps with a look at the loss every `every` steps: (step, loss).
std::vector<std::pair<std::int64_t, float>> log_sometimes(const Cnn& model, const Batch& batch,
                                                          std::int64_t steps, std::int64_t every);

// --- pitfalls (pitfalls.cc): the library's whole text for each

std::string batch_not_divisible();
/// A state shared on the way in and stacked on the way out: a warning.
std::string forgotten_pmean_warning(const Cnn& model, const Batch& batch);
/// The same, declared replicated on the way out.
std::string forgotten_pmean_error(const Cnn& model, const Batch& batch);
/// Rows in, rows out, and then gathered: the warning and the error.
std::string forgotten_pmean_gathered(const Cnn& model, const Batch& batch);
/// pmean over 'devices' in a pmap that does not name it, as in the document's own "correct" code.
std::string unnamed_axis(Array grads);
/// A batch without the device axis.
std::string no_device_axis(const Cnn& model, const Batch& batch);

}  // namespace training_techniques
