#include <tessera/nn/normalization.h>

#include "nn/checks.h"
#include "nn/range.h"

#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

namespace {

DType statistics_of(DType d) { return d == DType::float64 ? d : DType::float32; }

// Checks that the last axis of x has as many channels as the scale has entries.
void need_channels(const char* layer, const Array& scale, const char* maker, const Operand& x,
                   int least_rank) {
  need_parameter(layer, "scale", scale, maker, x.loc);
  need_array(layer, "x", x.array, x.loc);
  const std::int64_t n = scale.ndim() < 1 ? 1 : scale.shape(-1);
  need_entries(layer, "scale", scale, n, "channel", x.loc);
  if (x.array.ndim() >= least_rank && x.array.shape(-1) == n) return;
  Message(layer)
      .problem("x is " + describe(x.array) + ", the layer normalises " + std::to_string(n) +
               " channels")
      .rule(least_rank > 1 ? "the first axis of x are examples, the last one channels"
                           : "channels are the last axis of x")
      .from(x.loc)
      .advice(std::string("make it with nn::") + maker + " for as many as x has")
      .raise<ShapeError>();
}

Array normalized(const Array& x, const std::vector<std::int64_t>& over, double epsilon) {
  const InRange in(x, over, epsilon);
  const Array centered = in.x - mean(in.x, over, true);
  return centered * rsqrt(mean(square(centered), over, true) + in.epsilon);
}

Array with_scale(const Array& y, const Array& scale, const Array& bias) {
  return bias.is_empty() ? y * scale : y * scale + bias;
}

}  // namespace

RMSNorm rms_norm(std::int64_t features, double epsilon, std::source_location loc) {
  const InFunction called("rms_norm", loc);
  need_sizes("rms_norm", {features}, loc);
  need_number("rms_norm", "epsilon", epsilon, 0, HUGE_VAL, "1e-6 is usual", loc);
  return {ones({features}), epsilon};
}
Array RMSNorm::operator()(Operand x) const {
  const InFunction called("RMSNorm", x.loc);
  need_number("RMSNorm", "its epsilon", epsilon, 0, HUGE_VAL, "1e-6 is usual", x.loc);
  need_channels("RMSNorm", scale, "rms_norm(features)", x, 1);
  const Array wide = astype(x, statistics_of(x.array.dtype()));
  const InRange in(wide, -1, epsilon);
  const Array y = in.x * rsqrt(mean(square(in.x), -1, true) + in.epsilon);
  return (y * scale).astype(x.array.dtype());
}

GroupNorm group_norm(std::int64_t channels, std::int64_t groups, double epsilon,
                     std::source_location loc) {
  const InFunction called("group_norm", loc);
  need_sizes("group_norm", {channels, groups}, loc);
  need_number("group_norm", "epsilon", epsilon, 0, HUGE_VAL, "1e-6 is usual", loc);
  if (channels % groups)
    Message("group_norm")
        .problem(std::to_string(channels) + " channels in " + std::to_string(groups) + " groups")
        .rule("groups divide the channels: " + std::to_string(channels) + " % " +
              std::to_string(groups) + " is " + std::to_string(channels % groups))
        .from(loc)
        .advice("a number of groups that divides " + std::to_string(channels))
        .raise<ShapeError>();
  return {ones({channels}), zeros({channels}), groups, epsilon};
}
Array GroupNorm::operator()(Operand x) const {
  const InFunction called("GroupNorm", x.loc);
  need_number("GroupNorm", "its epsilon", epsilon, 0, HUGE_VAL, "1e-6 is usual", x.loc);
  need_channels("GroupNorm", scale, "group_norm(channels, groups)", x, 2);
  if (groups < 1 || x.array.shape(-1) % groups)
    Message("GroupNorm")
        .problem("it has " + std::to_string(groups) + " groups of " + describe(x.array))
        .rule("groups divide the channels")
        .from(x.loc)
        .advice("make it with nn::group_norm(channels, groups)")
        .raise<ShapeError>();
  const Shape& shape = x.array.shape();
  Shape parted(shape.begin(), shape.end() - 1);
  parted.push_back(groups);
  parted.push_back(shape[shape.size() - 1] / groups);
  std::vector<std::int64_t> over;
  for (int i = 1; i + 1 < shape.rank(); ++i) over.push_back(i);
  over.push_back(shape.rank());
  const Array wide = astype(x, statistics_of(x.array.dtype())).reshape(parted);
  const Array y = normalized(wide, over, epsilon).reshape(shape);
  return with_scale(y, scale, bias).astype(x.array.dtype());
}

InstanceNorm instance_norm(std::int64_t channels, double epsilon, std::source_location loc) {
  const InFunction called("instance_norm", loc);
  need_sizes("instance_norm", {channels}, loc);
  need_number("instance_norm", "epsilon", epsilon, 0, HUGE_VAL, "1e-6 is usual", loc);
  return {ones({channels}), zeros({channels}), epsilon};
}
Array InstanceNorm::operator()(Operand x) const {
  const InFunction called("InstanceNorm", x.loc);
  need_number("InstanceNorm", "its epsilon", epsilon, 0, HUGE_VAL, "1e-6 is usual", x.loc);
  need_channels("InstanceNorm", scale, "instance_norm(channels)", x, 3);
  std::vector<std::int64_t> over;
  for (int i = 1; i + 1 < x.array.ndim(); ++i) over.push_back(i);
  const Array wide = astype(x, statistics_of(x.array.dtype()));
  return with_scale(normalized(wide, over, epsilon), scale, bias).astype(x.array.dtype());
}

namespace {

// The weight as a matrix whose rows are all axes but the last.
Array matrix_of(const char* layer, const Operand& weight, const Array& own, std::int64_t n) {
  need_array(layer, "the weight", weight.array, weight.loc);
  if (weight.array.ndim() >= 2 && weight.array.shape(-1) == n) return reshape(weight, {-1, n});
  Message(layer)
      .problem("the weight is " + describe(weight.array) + ", the layer's own array " +
               describe(own))
      .rule("the last axis of a weight with two axes or more is that of the layer")
      .from(weight.loc)
      .advice("make it for the number of features or channels that the weight gives")
      .raise<ShapeError>();
}

Array normalised_vector(const Array& x, double epsilon) {
  return x * rsqrt(sum(square(x)) + epsilon);
}

Array over_sigma(const Array& weight, const Array& sigma) {
  return weight / where(sigma != 0, sigma, 1.0).astype(weight.dtype());
}

}  // namespace

SpectralNorm spectral_norm(const Array& key, std::int64_t out, std::int64_t steps,
                           std::source_location loc) {
  const InFunction called("spectral_norm", loc);
  need_key("spectral_norm", key, loc);
  need_sizes("spectral_norm", {out, steps}, loc);
  return {random::normal({key, loc}, {1, out}), ones({}), steps};
}
std::pair<Array, SpectralNorm> SpectralNorm::train(Operand weight) const {
  const InFunction called("SpectralNorm", weight.loc);
  need_parameter("SpectralNorm", "u", u, "spectral_norm(key, out)", weight.loc);
  const Array w = matrix_of("SpectralNorm", weight, u, u.shape(-1));
  Array left = u.astype(w.dtype()), right;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, steps); ++i) {
    right = normalised_vector(matmul(left, w.T()), epsilon);
    left = normalised_vector(matmul(right, w), epsilon);
  }
  left = stop_gradient(left);
  right = stop_gradient(right);
  const Array value = sum(matmul(matmul(right, w), left.T()));
  SpectralNorm next = *this;
  next.u = left.astype(u.dtype());
  next.sigma = stop_gradient(value).astype(sigma.dtype());
  return {over_sigma(weight.array, value), next};
}
Array SpectralNorm::operator()(Operand weight) const {
  const InFunction called("SpectralNorm", weight.loc);
  need_parameter("SpectralNorm", "sigma", sigma, "spectral_norm(key, out)", weight.loc);
  need_array("SpectralNorm", "the weight", weight.array, weight.loc);
  return over_sigma(weight.array, stop_gradient(sigma));
}

WeightNorm weight_norm(std::int64_t out, std::source_location loc) {
  const InFunction called("weight_norm", loc);
  need_sizes("weight_norm", {out}, loc);
  return {ones({out})};
}
Array WeightNorm::operator()(Operand weight) const {
  const InFunction called("WeightNorm", weight.loc);
  need_parameter("WeightNorm", "scale", scale, "weight_norm(out)", weight.loc);
  const Array w = matrix_of("WeightNorm", weight, scale, scale.shape(-1));
  const Array y = w * rsqrt(sum(square(w), 0, true) + epsilon) * scale;
  return y.astype(w.dtype()).reshape(weight.array.shape());
}

LayerNorm layer_norm(std::int64_t features, double epsilon, std::source_location loc) {
  const InFunction called("layer_norm", loc);
  need_sizes("layer_norm", {features}, loc);
  need_number("layer_norm", "epsilon", epsilon, 0, HUGE_VAL, "1e-5 is usual", loc);
  return {ones({features}), zeros({features}), epsilon};
}
Array LayerNorm::operator()(Operand x) const {
  const InFunction called("LayerNorm", x.loc);
  need_number("LayerNorm", "its epsilon", epsilon, 0, HUGE_VAL, "1e-5 is usual", x.loc);
  need_parameter("LayerNorm", "scale", scale, "layer_norm(features)", x.loc);
  need_parameter("LayerNorm", "bias", bias, "layer_norm(features)", x.loc);
  need_array("LayerNorm", "x", x.array, x.loc);
  const std::int64_t features = scale.ndim() < 1 ? 1 : scale.shape(-1);
  need_entries("LayerNorm", "scale", scale, features, "feature", x.loc);
  need_entries("LayerNorm", "bias", bias, features, "feature", x.loc);
  if (x.array.ndim() < 1 || x.array.shape(-1) != features)
    Message("LayerNorm")
        .problem("x is " + describe(x.array) + ", the layer normalises " +
                 std::to_string(features) + " features")
        .rule("features are the last axis of x")
        .from(x.loc)
        .advice("layer_norm with as many features as x has")
        .raise<ShapeError>();
  Array wide = astype(x, x.array.dtype() == DType::float64 ? DType::float64 : DType::float32);
  const InRange in(wide, -1, epsilon);
  Array centred = in.x - mean(in.x, -1, true);
  Array y = centred * rsqrt(mean(square(centred), -1, true) + in.epsilon);
  return (y * scale + bias).astype(x.array.dtype());
}

}  // namespace tessera::inline v0::nn
