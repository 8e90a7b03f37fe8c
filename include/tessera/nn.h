// Neural networks in Equinox's manner: a layer is a plain struct of arrays with a call operator,
// made by a function that takes a key. Structs of layers are models; trees of arrays are all that
// the rest of the library sees.
//
// A compute dtype (`dtype` of a layer) converts the input and the parameters before the layer's
// arithmetic: float32 parameters with bfloat16 arithmetic is mixed precision.
#pragma once

#include <tessera/array.h>
#include <tessera/convolution.h>
#include <tessera/nn/initializers.h>
#include <tessera/tree.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0::nn {

// --- layers

/// x @ weight + bias over the last axis. weight (in, out), bias (out,) or empty.
struct Linear {
  Array weight, bias;
  std::optional<DType> dtype;  // of the arithmetic
  TESSERA_API Array operator()(Operand x) const;
};
struct LinearOptions {
  bool bias = true;
  Initializer init = VarianceScaling{};
  std::optional<DType> dtype = {};
};
TESSERA_API Linear linear(const Array& key, std::int64_t in, std::int64_t out,
                          const LinearOptions& options = {},
                          std::source_location loc = std::source_location::current());

/// Convolution over channels-last input. weight (spatial..., in / groups, out), bias (out,) or
/// empty.
struct Conv {
  Array weight, bias;
  std::vector<std::int64_t> strides, dilation;
  std::string padding = "SAME";
  std::int64_t groups = 1;
  std::optional<DType> dtype;
  TESSERA_API Array operator()(Operand x) const;
};
struct ConvLayerOptions {
  std::vector<std::int64_t> strides = {};
  std::string padding = "SAME";
  std::vector<std::int64_t> dilation = {};
  std::int64_t groups = 1;
  bool bias = true;
  Initializer init = VarianceScaling{};
  std::optional<DType> dtype = {};
};
/// `kernel` has the spatial extents: {3, 3}.
TESSERA_API Conv conv(const Array& key, std::int64_t in, std::int64_t out,
                      const std::vector<std::int64_t>& kernel, const ConvLayerOptions& options = {},
                      std::source_location loc = std::source_location::current());

/// A row of weight (entries, features) for each integer of x. The rows start standard normal.
struct Embedding {
  Array weight;
  TESSERA_API Array operator()(Operand x) const;
};
TESSERA_API Embedding embedding(const Array& key, std::int64_t entries, std::int64_t features,
                                std::source_location loc = std::source_location::current());

/// Normalises the last axis to mean 0 and variance 1, then scales and shifts (Ba et al. 2016).
/// Statistics in float32.
struct LayerNorm {
  Array scale, bias;
  double epsilon = 1e-5;
  TESSERA_API Array operator()(Operand x) const;
};
TESSERA_API LayerNorm layer_norm(std::int64_t features, double epsilon = 1e-5,
                                 std::source_location loc = std::source_location::current());

/// Normalises each channel (the last axis) over all other axes (Ioffe and Szegedy 2015). Training
/// uses the batch's own statistics, averaged over the devices of `axis_name` when one is given, and
/// returns the layer with updated running statistics; evaluation uses these.
struct BatchNorm {
  Array scale, bias;
  Array mean, var;  // running; no gradients flow to them
  double momentum = 0.9, epsilon = 1e-5;
  std::string axis_name;
  /// (result, layer to use from now on)
  TESSERA_API std::pair<Array, BatchNorm> train(Operand x) const;
  TESSERA_API Array operator()(Operand x) const;
};
struct BatchNormOptions {
  double momentum = 0.9, epsilon = 1e-5;
  std::string axis_name = {};
};
TESSERA_API BatchNorm batch_norm(std::int64_t channels, const BatchNormOptions& options = {},
                                 std::source_location loc = std::source_location::current());

/// Zeroes elements with probability `rate` and scales the others by 1 / (1 - rate); the identity
/// unless `train`.
struct Dropout {
  double rate = 0.5;
  TESSERA_API Array operator()(Operand x, const Array& key, bool train = true) const;
};

// --- functions

/// max(x, 0); its derivative at 0 is 0.
TESSERA_API Array relu(Operand x);
TESSERA_API Array leaky_relu(Operand x, double slope = 0.01);
/// x * Phi(x): by tanh (Hendrycks and Gimpel 2016, the approximation) or by erf.
TESSERA_API Array gelu(Operand x, bool approximate = true);
/// x * sigmoid(x)
TESSERA_API Array silu(Operand x);
/// x above 0, alpha * (exp(x) - 1) below.
TESSERA_API Array elu(Operand x, double alpha = 1.0);
/// log(sigmoid(x)), without overflow.
TESSERA_API Array log_sigmoid(Operand x);
/// log(1 + exp(x))
TESSERA_API Array softplus(Operand x);
TESSERA_API Array softmax(Operand x, std::int64_t axis = -1);
TESSERA_API Array log_softmax(Operand x, std::int64_t axis = -1);

// --- losses: one value an example (the last axis is summed out); take the mean yourself

/// -sum(labels * log_softmax(logits)); labels are probabilities of the logits' shape, as one_hot
/// makes.
TESSERA_API Array softmax_cross_entropy(Operand logits, Operand labels);
/// -log_softmax(logits)[label]; labels are integers of the logits' shape without the last axis.
/// A label outside the classes gives 0, so that padding may be -1.
TESSERA_API Array softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels);
/// One value an element: -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits));
/// labels are probabilities of the logits' shape.
TESSERA_API Array sigmoid_binary_cross_entropy(Operand logits, Operand labels);
/// One value an element: e^2 / 2 for errors up to delta, delta * (|e| - delta / 2) beyond (Huber
/// 1964). Predictions and targets have one shape.
TESSERA_API Array huber_loss(Operand predictions, Operand targets, double delta = 1.0);
/// The mean of `values` where mask is 1: sum(values * mask) / max(sum(mask), 1).
TESSERA_API Array masked_mean(Operand values, Operand mask);
/// Share of examples whose largest logit is at the label.
TESSERA_API Array accuracy(Operand logits, Operand labels);

}  // namespace tessera::inline v0::nn
