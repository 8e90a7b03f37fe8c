#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/linear.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>
#include <tessera/nn.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include <algorithm>
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

void check_key(const char* layer, const Array& key, const std::source_location& loc) {
  if (!key.is_empty() && key.dtype() == DType::uint32 && key.shape() == Shape{2}) return;
  Message(layer)
      .problem("the key is " + describe(key))
      .rule("a key is a uint32 array of shape (2,)")
      .from(loc)
      .advice("make one with random::key(seed), and one for each layer with random::split")
      .raise<ShapeError>();
}

void check_sizes(const char* layer, const Shape& sizes, const std::source_location& loc) {
  if (std::all_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n > 0; })) return;
  Message(layer)
      .problem("the layer's sizes are " + to_string(sizes))
      .rule("each is at least 1")
      .from(loc)
      .advice("take them from the data's shape, such as x.shape(-1)")
      .raise<ShapeError>();
}

}  // namespace

Array VarianceScaling::operator()(const Array& key, const Shape& shape, DType dtype,
                                  std::source_location loc) const {
  double receptive = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i)
    receptive *= static_cast<double>(shape[static_cast<std::size_t>(i)]);
  double fan_in = shape.rank() >= 2 ? static_cast<double>(shape[shape.size() - 2]) * receptive
                                    : static_cast<double>(shape.count());
  double fan_out = shape.rank() >= 2 ? static_cast<double>(shape[shape.size() - 1]) * receptive
                                     : static_cast<double>(shape.count());
  double n = fan == "in" ? fan_in : fan == "out" ? fan_out : (fan_in + fan_out) / 2;
  if (fan != "in" && fan != "out" && fan != "average")
    Message("VarianceScaling")
        .problem("the fan is \"" + fan + "\"")
        .rule("it is \"in\", \"out\" or \"average\"")
        .from(loc)
        .advice("\"in\"")
        .raise<Error>();
  double variance = scale / std::max(1.0, n);
  if (distribution == "normal")
    return random::normal({key, loc}, shape, dtype) * std::sqrt(variance);
  if (distribution == "uniform")
    return random::uniform({key, loc}, shape, dtype, -1.0, 1.0) * std::sqrt(3 * variance);
  if (distribution == "truncated_normal")
    // The standard deviation of a standard normal cut at -2 and 2.
    return random::truncated_normal({key, loc}, -2.0, 2.0, shape, dtype) *
           (std::sqrt(variance) / 0.87962566103423978);
  Message("VarianceScaling")
      .problem("the distribution is \"" + distribution + "\"")
      .rule("it is \"normal\", \"truncated_normal\" or \"uniform\"")
      .from(loc)
      .advice("\"truncated_normal\"")
      .raise<Error>();
}

Linear linear(const Array& key, std::int64_t inputs, std::int64_t outputs, const LinearOptions& o,
              std::source_location loc) {
  check_key("linear", key, loc);
  check_sizes("linear", {inputs, outputs}, loc);
  return {o.init(key, {inputs, outputs}, DType::float32, loc), o.bias ? zeros({outputs}) : Array(),
          o.dtype};
}
Array Linear::operator()(Operand x) const {
  if (!weight.is_empty() && weight.ndim() != 2)
    Message("Linear")
        .problem("its weight is " + describe(weight))
        .rule("a weight has two axes: features in, features out")
        .from(x.loc)
        .advice(
            "a model with a row a device runs inside pmap; outside, take one of its rows with "
            "ts::unreplicate(model)")
        .raise<ShapeError>();
  if (!weight.is_empty() &&
      (x.array.is_empty() || x.array.ndim() < 1 || x.array.shape(-1) != weight.shape(0)))
    Message("Linear")
        .problem("x is " + describe(x.array) + ", the layer takes " +
                 std::to_string(weight.shape(0)) + " features: its weight is " + describe(weight))
        .rule("features are the last axis of x")
        .from(x.loc)
        .advice(
            "make the layer with linear(key, in, out) for the features that x has, or flatten "
            "the axes before it: x.reshape(batch, -1)")
        .raise<ShapeError>();
  return with_bias(dot(Operand(in(dtype, x), x.loc), in(dtype, weight)), bias, dtype);
}

Conv conv(const Array& key, std::int64_t inputs, std::int64_t outputs,
          const std::vector<std::int64_t>& kernel, const ConvLayerOptions& o,
          std::source_location loc) {
  check_key("conv", key, loc);
  check_sizes("conv", {inputs, outputs}, loc);
  if (o.groups < 1 || inputs % o.groups || outputs % o.groups)
    Message("conv")
        .problem(std::to_string(inputs) + " channels in and " + std::to_string(outputs) +
                 " out in " + std::to_string(o.groups) + " groups")
        .rule("groups divide both: each maps in / groups channels to out / groups")
        .from(loc)
        .advice("groups = 1, or as many groups as there are channels in")
        .raise<ShapeError>();
  Shape shape(kernel);
  shape.push_back(inputs / o.groups);
  shape.push_back(outputs);
  return {o.init(key, shape, DType::float32, loc),
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

Embedding embedding(const Array& key, std::int64_t entries, std::int64_t features,
                    std::source_location loc) {
  check_key("embedding", key, loc);
  check_sizes("embedding", {entries, features}, loc);
  return {random::normal({key, loc}, {entries, features})};
}
Array Embedding::operator()(Operand x) const {
  if (!is_integer(x.array.dtype()))
    Message("Embedding")
        .problem("x is " + describe(x.array))
        .rule("it picks rows of the weight by integers")
        .from(x.loc)
        .advice("convert with astype(ts::i32)")
        .raise<DTypeError>();
  return take(weight, x, 0);
}

LayerNorm layer_norm(std::int64_t features, double epsilon, std::source_location loc) {
  check_sizes("layer_norm", {features}, loc);
  return {ones({features}), zeros({features}), epsilon};
}
Array LayerNorm::operator()(Operand x) const {
  if (x.array.ndim() < 1 || x.array.shape(-1) != scale.size())
    Message("LayerNorm")
        .problem("x is " + describe(x.array) + ", the layer normalises " +
                 std::to_string(scale.size()) + " features")
        .rule("features are the last axis of x")
        .from(x.loc)
        .advice("layer_norm with as many features as x has")
        .raise<ShapeError>();
  Array wide = astype(x, x.array.dtype() == DType::float64 ? DType::float64 : DType::float32);
  Array centred = wide - mean(wide, -1, true);
  Array y = centred * rsqrt(mean(square(centred), -1, true) + epsilon);
  return (y * scale + bias).astype(x.array.dtype());
}

Array Dropout::operator()(Operand x, const Array& key, bool train) const {
  if (!train || rate == 0) return x.array;
  if (!(rate > 0 && rate < 1))
    Message("Dropout")
        .problem("the rate is " + to_string(Array(rate)))
        .rule("it is at least 0 and less than 1")
        .from(x.loc)
        .advice("0.1, the share of elements that are dropped")
        .raise<Error>();
  Array keep = random::bernoulli(key, 1 - rate, x.array.shape());
  return where(keep, divide(x, 1 - rate), 0);
}

}  // namespace tessera::inline v0::nn
