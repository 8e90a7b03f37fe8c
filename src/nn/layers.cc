#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/linear.h>
#include <tessera/manipulation.h>
#include <tessera/nn.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

namespace {

// In the layer's compute dtype, where it has one.
Array in(const std::optional<DType>& dtype, const Operand& x) {
  return dtype ? astype(x, *dtype) : x.array;
}

Array with_bias(Array y, const Array& bias, const std::optional<DType>& dtype) {
  return bias.is_empty() ? y : y + in(dtype, bias);
}

}  // namespace

Array VarianceScaling::operator()(const Array& key, const Shape& shape, DType dtype) const {
  double receptive = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i)
    receptive *= static_cast<double>(shape[static_cast<std::size_t>(i)]);
  double fan_in = shape.rank() >= 2 ? static_cast<double>(shape[shape.size() - 2]) * receptive
                                    : static_cast<double>(shape.count());
  double fan_out = shape.rank() >= 2 ? static_cast<double>(shape[shape.size() - 1]) * receptive
                                     : static_cast<double>(shape.count());
  double n = fan == "in" ? fan_in : fan == "out" ? fan_out : (fan_in + fan_out) / 2;
  if (fan != "in" && fan != "out" && fan != "average")
    throw Error("VarianceScaling: the fan is \"" + fan +
                "\"\n  rule: it is \"in\", \"out\" or \"average\"\n  try: \"in\"");
  double variance = scale / std::max(1.0, n);
  if (distribution == "normal") return random::normal(key, shape, dtype) * std::sqrt(variance);
  if (distribution == "uniform")
    return random::uniform(key, shape, dtype, -1.0, 1.0) * std::sqrt(3 * variance);
  if (distribution == "truncated_normal")
    // The standard deviation of a standard normal cut at -2 and 2.
    return random::truncated_normal(key, -2.0, 2.0, shape, dtype) *
           (std::sqrt(variance) / 0.87962566103423978);
  throw Error("VarianceScaling: the distribution is \"" + distribution +
              "\"\n  rule: it is \"normal\", \"truncated_normal\" or \"uniform\"\n  try: "
              "\"truncated_normal\"");
}

Linear linear(const Array& key, std::int64_t inputs, std::int64_t outputs, const LinearOptions& o) {
  return {o.init(key, {inputs, outputs}), o.bias ? zeros({outputs}) : Array(), o.dtype};
}
Array Linear::operator()(Operand x) const {
  return with_bias(dot(Operand(in(dtype, x), x.loc), in(dtype, weight)), bias, dtype);
}

Conv conv(const Array& key, std::int64_t inputs, std::int64_t outputs,
          const std::vector<std::int64_t>& kernel, const ConvLayerOptions& o) {
  if (o.groups < 1 || inputs % o.groups || outputs % o.groups)
    throw ShapeError(
        "conv: " + std::to_string(inputs) + " channels in and " + std::to_string(outputs) +
        " out in " + std::to_string(o.groups) +
        " groups\n  rule: groups divide both: each maps in / groups channels to out / " +
        "groups\n  try: groups = 1, or as many groups as there are channels in");
  Shape shape(kernel);
  shape.push_back(inputs / o.groups);
  shape.push_back(outputs);
  return {o.init(key, shape),
          o.bias ? zeros({outputs}) : Array(),
          o.strides,
          o.dilation,
          o.padding,
          o.groups,
          o.dtype};
}
Array Conv::operator()(Operand x) const {
  ConvOptions o;
  o.strides = strides;
  o.padding = padding;
  o.kernel_dilation = dilation;
  o.feature_group_count = groups;
  return with_bias(v0::conv(Operand(in(dtype, x), x.loc), in(dtype, weight), o), bias, dtype);
}

Embedding embedding(const Array& key, std::int64_t entries, std::int64_t features) {
  return {random::normal(key, {entries, features})};
}
Array Embedding::operator()(Operand x) const {
  if (!is_integer(x.array.dtype()))
    throw DTypeError(
        "Embedding: x is " + describe(x.array) +
        "\n  rule: it picks rows of the weight by integers\n  try: convert with astype(ts::i32)");
  return take(weight, x, 0);
}

LayerNorm layer_norm(std::int64_t features, double epsilon) {
  return {ones({features}), zeros({features}), epsilon};
}
Array LayerNorm::operator()(Operand x) const {
  if (x.array.ndim() < 1 || x.array.shape(-1) != scale.size())
    throw ShapeError("LayerNorm: x is " + describe(x.array) + ", the layer normalises " +
                     std::to_string(scale.size()) +
                     " features\n  rule: features are the last axis of x\n  try: layer_norm with "
                     "as many features as x has");
  Array wide = astype(x, x.array.dtype() == DType::float64 ? DType::float64 : DType::float32);
  Array centred = wide - mean(wide, -1, true);
  Array y = centred * rsqrt(mean(square(centred), -1, true) + epsilon);
  return (y * scale + bias).astype(x.array.dtype());
}

Array Dropout::operator()(Operand x, const Array& key, bool train) const {
  if (!train || rate == 0) return x.array;
  if (!(rate > 0 && rate < 1))
    throw Error("Dropout: the rate is " + std::to_string(rate) +
                "\n  rule: it is at least 0 and less than 1\n  try: 0.1, the share of elements "
                "that are dropped");
  Array keep = random::bernoulli(key, 1 - rate, x.array.shape());
  return where(keep, divide(x, 1 - rate), 0);
}

}  // namespace tessera::inline v0::nn
