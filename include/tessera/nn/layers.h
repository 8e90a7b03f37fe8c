// Layers: dense, convolutional, embedding, dropout, and containers of layers.
//
// A layer is a plain struct of arrays with a call operator, made by a function that takes a key. A
// layer's `dtype` is its compute dtype: input and parameters are converted to it first, so float32
// parameters with bfloat16 arithmetic give mixed precision.
#pragma once

#include <tessera/array.h>
#include <tessera/convolution.h>
#include <tessera/nn/activations.h>
#include <tessera/nn/initializers.h>
#include <tessera/tree.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::inline v0::nn {

/// x @ weight + bias over the last axis. weight (in, out), bias (out,) or empty.
struct Linear {
  Array weight, bias;
  std::optional<DType> dtype;  // compute dtype
  TESSERA_API Array operator()(Operand x) const;
};
/// The options of linear: whether there is a `bias`, how the weight is initialised (`init`), and
/// the compute `dtype`.
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
/// The options of conv, conv_transpose and depthwise_conv: `strides` and `dilation` for each
/// spatial axis (by default 1), `padding` ("SAME" or "VALID"), `groups` of channels, the `bias`,
/// the initialiser `init` of the kernel, and the compute `dtype`.
struct ConvLayerOptions {
  std::vector<std::int64_t> strides = {};
  std::string padding = "SAME";
  std::vector<std::int64_t> dilation = {};
  std::int64_t groups = 1;
  bool bias = true;
  Initializer init = VarianceScaling{};
  std::optional<DType> dtype = {};
};
/// `kernel` gives the spatial extents: {3, 3}.
TESSERA_API Conv conv(const Array& key, std::int64_t in, std::int64_t out,
                      const std::vector<std::int64_t>& kernel, const ConvLayerOptions& options = {},
                      std::source_location loc = std::source_location::current());

/// Looks up a row of weight (entries, features) for each integer of x. The rows are initialised
/// from a standard normal.
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

/// Transposed convolution of channels-last input: each element adds the scaled kernel to the
/// output, at positions `strides` apart. weight (spatial..., in, out) is not flipped, as in
/// flax.linen.ConvTranspose.
struct ConvTranspose {
  Array weight, bias;
  std::vector<std::int64_t> strides, dilation;
  std::string padding = "SAME";  // output extent n * stride; "VALID": every position reached
  std::optional<DType> dtype;
  TESSERA_API Array operator()(Operand x) const;
};
/// `options.groups` must be 1.
TESSERA_API ConvTranspose
conv_transpose(const Array& key, std::int64_t in, std::int64_t out,
               const std::vector<std::int64_t>& kernel, const ConvLayerOptions& options = {},
               std::source_location loc = std::source_location::current());
/// A depthwise convolution, with `multiplier` kernels per channel and as many groups as channels.
TESSERA_API Conv depthwise_conv(const Array& key, std::int64_t channels, std::int64_t multiplier,
                                const std::vector<std::int64_t>& kernel,
                                const ConvLayerOptions& options = {},
                                std::source_location loc = std::source_location::current());

/// The minimum of each window, with windows as in max_pool.
TESSERA_API Array min_pool(Operand x, const std::vector<std::int64_t>& window,
                           const std::vector<std::int64_t>& strides = {},
                           const Padding& padding = "VALID");
/// The mean over windows that partition the spatial axes of x (batch, spatial..., channels) into
/// `sizes` of nearly equal, possibly overlapping windows: with n elements and m windows, window i
/// goes from floor(i n / m) to ceil((i + 1) n / m).
TESSERA_API Array adaptive_avg_pool(Operand x, const std::vector<std::int64_t>& sizes);
/// adaptive_avg_pool as a layer.
struct AdaptiveAvgPool {
  /// The extents of the result's spatial axes.
  std::vector<std::int64_t> sizes;
  TESSERA_API Array operator()(Operand x) const;
};

/// Dropout that zeroes whole slices: all elements along `broadcast_dims` share one draw.
struct BroadcastDropout {
  /// The probability of a zero.
  double rate = 0.5;
  std::vector<std::int64_t> broadcast_dims;
  TESSERA_API Array operator()(Operand x, const Array& key, bool train = true) const;
};
/// Dropout of whole channels of x (batch, spatial..., channels) (Tompson et al. 2015).
struct SpatialDropout {
  /// The probability of a zero.
  double rate = 0.5;
  TESSERA_API Array operator()(Operand x, const Array& key, bool train = true) const;
};

/// x for x > 0, slope * x otherwise, with a trainable slope (He et al. 2015).
struct PReLU {
  Array slope;  // a scalar, or one per channel
  TESSERA_API Array operator()(Operand x) const;
};
TESSERA_API PReLU prelu(double slope = 0.01);

/// einsum(subscripts, x, weight) + bias.
struct Einsum {
  Array weight, bias;
  std::string subscripts;
  TESSERA_API Array operator()(Operand x) const;
};
/// `bias` is the shape of the bias; without it there is none.
TESSERA_API Einsum einsum_layer(const Array& key, const std::string& subscripts,
                                const Shape& weight_shape, const std::optional<Shape>& bias = {},
                                const Initializer& init = VarianceScaling{},
                                std::source_location loc = std::source_location::current());

/// Returns x unchanged.
struct Identity {
  Array operator()(const Operand& x) const { return x.array; }
};
/// Applies layers one after the other.
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
/// `sizes` are the numbers of features from input to output: {784, 128, 10}. Throws ShapeError for
/// fewer than two, and Error for an unknown activation.
TESSERA_API MLP mlp(const Array& key, const std::vector<std::int64_t>& sizes,
                    const std::string& activation = "relu", const LinearOptions& options = {},
                    std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0::nn
