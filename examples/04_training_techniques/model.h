// The document's network, its training state and its batches.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace training_techniques {

namespace ts = tessera;
namespace nn = tessera::nn;
namespace optim = tessera::optim;
using ts::Array;

inline constexpr const char* kDevices = "devices";  // the mapped axis

/// Two 3x3 convolutions with ReLU and 2x2 max-pooling, then a dense layer.
struct Cnn {
  nn::Conv conv1, conv2;
  nn::Linear dense;
  nn::Dropout dropout;

  /// Takes x (n, size, size, 3) and returns logits (n, classes). The document's model takes `train`
  /// and ignores it; here `train` switches dropout on, which then needs a key.
  Array operator()(Array x, bool train = false, Array key = {}) const;
};
struct CnnOptions {
  std::int64_t size = 32, width = 32, classes = 10;  // as in the document
  double dropout = 0;
  std::optional<ts::DType> dtype = {};  // of the arithmetic; parameters are float32
};
Cnn make_cnn(Array key, const CnnOptions& options = {});

/// The counterpart of nnx.Optimizer: the model, Adam's moments, and counters.
using State = optim::TrainState<Cnn>;

struct Batch {
  Array image;  // float32 (..., size, size, 3)
  Array label;  // int32 (...,)
};
/// Makes n examples of ten noisy patterns, all from one key.
Batch make_images(Array key, std::int64_t n, std::int64_t size);

/// Returns slices of `batch` examples in order; the last one may be shorter.
std::vector<Batch> load(const Batch& all, std::int64_t batch);
/// The same slices, except that the last one is filled up with examples whose mask is 0.
struct Masked {
  Batch batch;
  Array mask;  // float32 (batch,)
};
std::vector<Masked> load_padded(const Batch& all, std::int64_t batch);

struct Metrics {
  Array accuracy;
};
/// The mean cross entropy, and metrics as auxiliary results.
std::pair<Array, Metrics> loss_and_metrics(const Cnn& model, const Batch& batch);
Array loss_of(const Cnn& model, const Batch& batch);

}  // namespace training_techniques
