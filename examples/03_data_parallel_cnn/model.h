// The network of the document: two 3x3 convolutions with ReLU and 2x2 max-pooling, then a dense
// layer.
#pragma once

#include <tessera/tessera.h>

namespace ts = tessera;
namespace nn = tessera::nn;
namespace optim = tessera::optim;
using ts::Array;

struct Cnn {
  nn::Conv conv1, conv2;
  nn::Linear dense;

  /// Takes x (n, height, width, 1) in [0, 1] and returns float32 logits (n, classes).
  Array operator()(Array x) const {
    x = nn::relu(conv1(x));
    x = ts::max_pool(x, {2, 2});
    x = nn::relu(conv2(x));
    x = ts::max_pool(x, {2, 2});
    x = x.reshape(x.shape(0), -1);
    return dense(x).astype(ts::f32);
  }
};

/// `dtype` is the dtype of the layers' arithmetic; parameters are float32.
inline Cnn make_cnn(const Array& key, std::int64_t height, std::int64_t width, std::int64_t classes,
                    std::optional<ts::DType> dtype) {
  auto [k1, k2, k3] = ts::random::split<3>(key);
  return {nn::conv(k1, 1, 32, {3, 3}, {.dtype = dtype}),
          nn::conv(k2, 32, 64, {3, 3}, {.dtype = dtype}),
          nn::linear(k3, height / 4 * (width / 4) * 64, classes, {.dtype = dtype})};
}

/// Everything that a training step changes.
struct TrainState {
  Cnn model;
  optim::State optimizer;
};

struct Metrics {
  Array loss, accuracy;
};
