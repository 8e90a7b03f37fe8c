// Normalisation layers. Channels are the last axis. Statistics are computed in float32 (float64 for
// float64 input), and results have the input's dtype.
#pragma once

#include <tessera/array.h>

#include <string>
#include <utility>

namespace tessera::inline v0::nn {
/// Normalises the last axis to mean 0 and variance 1, then scales and shifts (Ba et al. 2016).
struct LayerNorm {
  /// Float32 arrays of `features` elements.
  Array scale, bias;
  /// What is added to the variance.
  double epsilon = 1e-5;
  TESSERA_API Array operator()(Operand x) const;
};
TESSERA_API LayerNorm layer_norm(std::int64_t features, double epsilon = 1e-5,
                                 std::source_location loc = std::source_location::current());

/// Normalises each channel (the last axis) over all other axes (Ioffe and Szegedy 2015). Training
/// uses the batch's own statistics, averaged over the devices of `axis_name` if one is given, and
/// returns the layer with updated running statistics, which evaluation uses.
struct BatchNorm {
  /// Float32 arrays of `channels` elements.
  Array scale, bias;
  Array mean, var;  // running statistics; no gradients flow to them
  /// `momentum` is the weight of the old running statistics in each update, and `epsilon` is added
  /// to the variance.
  double momentum = 0.9, epsilon = 1e-5;
  std::string axis_name;
  /// Returns (result, updated layer).
  TESSERA_API std::pair<Array, BatchNorm> train(Operand x) const;
  TESSERA_API Array operator()(Operand x) const;
};
/// The options of batch_norm: momentum, epsilon and axis_name are those of BatchNorm.
struct BatchNormOptions {
  double momentum = 0.9, epsilon = 1e-5;
  std::string axis_name = {};
};
TESSERA_API BatchNorm batch_norm(std::int64_t channels, const BatchNormOptions& options = {},
                                 std::source_location loc = std::source_location::current());

/// x / sqrt(mean(x^2) + epsilon) over the last axis, then scaled (Zhang and Sennrich 2019).
struct RMSNorm {
  /// A float32 array of `features` elements.
  Array scale;
  double epsilon = 1e-6;
  TESSERA_API Array operator()(Operand x) const;
};
TESSERA_API RMSNorm rms_norm(std::int64_t features, double epsilon = 1e-6,
                             std::source_location loc = std::source_location::current());

/// Normalises each group of channels of x (batch, ..., channels) over the group and all axes
/// between the first and the last (Wu and He 2018).
struct GroupNorm {
  /// Float32 arrays of `channels` elements.
  Array scale, bias;
  /// The number of groups of channels.
  std::int64_t groups = 32;
  /// What is added to the variance.
  double epsilon = 1e-6;
  TESSERA_API Array operator()(Operand x) const;
};
/// Throws ShapeError unless the groups divide the channels.
TESSERA_API GroupNorm group_norm(std::int64_t channels, std::int64_t groups = 32,
                                 double epsilon = 1e-6,
                                 std::source_location loc = std::source_location::current());

/// Normalises each channel of each example over all axes in between (Ulyanov et al. 2016).
struct InstanceNorm {
  /// Float32 arrays of `channels` elements.
  Array scale, bias;
  /// What is added to the variance.
  double epsilon = 1e-6;
  TESSERA_API Array operator()(Operand x) const;
};
TESSERA_API InstanceNorm instance_norm(std::int64_t channels, double epsilon = 1e-6,
                                       std::source_location loc = std::source_location::current());

/// Divides a weight matrix (all axes but the last are rows) by its largest singular value,
/// estimated by power iteration with `steps` steps per training call (Miyato et al. 2018).
struct SpectralNorm {
  Array u;      // (1, out), of length 1; receives no gradients
  Array sigma;  // the estimate of the last step
  std::int64_t steps = 1;
  /// What is added to norms before they divide.
  double epsilon = 1e-12;
  /// Returns (normalised weight, updated layer).
  TESSERA_API std::pair<Array, SpectralNorm> train(Operand weight) const;
  /// Uses the sigma of the last step.
  TESSERA_API Array operator()(Operand weight) const;
};
TESSERA_API SpectralNorm spectral_norm(const Array& key, std::int64_t out, std::int64_t steps = 1,
                                       std::source_location loc = std::source_location::current());

/// scale * weight / |weight|, with one norm per entry of the last axis (Salimans and Kingma 2016).
struct WeightNorm {
  Array scale;  // (out,)
  /// What is added to norms before they divide.
  double epsilon = 1e-12;
  TESSERA_API Array operator()(Operand weight) const;
};
TESSERA_API WeightNorm weight_norm(std::int64_t out,
                                   std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0::nn
