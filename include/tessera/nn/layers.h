// Layers: dense, convolutional, embedding, dropout, and what puts layers together.
//
// A layer is a plain struct of arrays with a call operator, made by a function that takes a key. A
// compute dtype (`dtype` of a layer) converts the input and the parameters before the layer's
// arithmetic: float32 parameters with bfloat16 arithmetic is mixed precision.
#pragma once

#include <tessera/array.h>
#include <tessera/convolution.h>
#include <tessera/nn/activations.h>
#include <tessera/nn/initializers.h>
#include <tessera/tree.h>

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::inline v0::nn {

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

/// Zeroes elements with probability `rate` and scales the others by 1 / (1 - rate); the identity
/// unless `train`.
struct Dropout {
  double rate = 0.5;
  TESSERA_API Array operator()(Operand x, const Array& key, bool train = true) const;
};

/// Transposed convolution of channels-last input: each element spreads the kernel over the output,
/// `strides` apart. weight (spatial..., in, out), not flipped, as flax.linen.ConvTranspose has it.
struct ConvTranspose {
  Array weight, bias;
  std::vector<std::int64_t> strides, dilation;
  std::string padding = "SAME";  // output extent n * stride; "VALID": all that is reached
  std::optional<DType> dtype;
  TESSERA_API Array operator()(Operand x) const;
};
/// `options.groups` is 1.
TESSERA_API ConvTranspose
conv_transpose(const Array& key, std::int64_t in, std::int64_t out,
               const std::vector<std::int64_t>& kernel, const ConvLayerOptions& options = {},
               std::source_location loc = std::source_location::current());
/// Each channel with `multiplier` kernels of its own: a convolution of as many groups as channels.
TESSERA_API Conv depthwise_conv(const Array& key, std::int64_t channels, std::int64_t multiplier,
                                const std::vector<std::int64_t>& kernel,
                                const ConvLayerOptions& options = {},
                                std::source_location loc = std::source_location::current());

/// The least element of each window; windows as in max_pool.
TESSERA_API Array min_pool(Operand x, const std::vector<std::int64_t>& window,
                           const std::vector<std::int64_t>& strides = {},
                           const Padding& padding = "VALID");
/// The mean over windows of nearly one size that share x (batch, spatial..., channels) out over
/// `sizes`: window i of n elements over m goes from floor(i n / m) to ceil((i + 1) n / m).
TESSERA_API Array adaptive_avg_pool(Operand x, const std::vector<std::int64_t>& sizes);
/// As a layer.
struct AdaptiveAvgPool {
  std::vector<std::int64_t> sizes;
  TESSERA_API Array operator()(Operand x) const;
};

/// Dropout that zeroes whole slices: along `broadcast_dims` all elements share one draw.
struct BroadcastDropout {
  double rate = 0.5;
  std::vector<std::int64_t> broadcast_dims;
  TESSERA_API Array operator()(Operand x, const Array& key, bool train = true) const;
};
/// Dropout of whole channels: x (batch, spatial..., channels) (Tompson et al. 2015).
struct SpatialDropout {
  double rate = 0.5;
  TESSERA_API Array operator()(Operand x, const Array& key, bool train = true) const;
};

/// x above 0, slope * x below, with a slope that is trained (He et al. 2015).
struct PReLU {
  Array slope;  // a scalar, or one a channel
  TESSERA_API Array operator()(Operand x) const;
};
TESSERA_API PReLU prelu(double slope = 0.01);

/// einsum(subscripts, x, weight) + bias.
struct Einsum {
  Array weight, bias;
  std::string subscripts;
  TESSERA_API Array operator()(Operand x) const;
};
/// The bias, of its own shape, is left out where that is empty.
TESSERA_API Einsum einsum_layer(const Array& key, const std::string& subscripts,
                                const Shape& weight_shape, const std::optional<Shape>& bias = {},
                                const Initializer& init = VarianceScaling{},
                                std::source_location loc = std::source_location::current());

/// x as it is.
struct Identity {
  Array operator()(const Operand& x) const { return x.array; }
};
/// Layers one after the other.
template <class... Layers>
struct Sequential {
  std::tuple<Layers...> layers;
  Array operator()(const Operand& x) const {
    return std::apply(
        [&](const Layers&... layer) {
          Array y = x.array;
          ((y = layer({y, x.loc})), ...);
          return y;
        },
        layers);
  }
};
template <class... Layers>
Sequential<Layers...> sequential(Layers... layers) {
  return {std::tuple<Layers...>(std::move(layers)...)};
}

/// Linear layers with an activation between them: "relu", "gelu", "silu", "tanh", "sigmoid", "elu",
/// "selu" or "identity".
struct MLP {
  std::vector<Linear> layers;
  std::string activation = "relu";
  TESSERA_API Array operator()(Operand x) const;
};
/// `sizes` are the features from the input to the output: {784, 128, 10}. ShapeError for less than
/// two, Error for an activation that is none of these.
TESSERA_API MLP mlp(const Array& key, const std::vector<std::int64_t>& sizes,
                    const std::string& activation = "relu", const LinearOptions& options = {},
                    std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0::nn
