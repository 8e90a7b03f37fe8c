#include "nn/checks.h"
#include "nn/range.h"

#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>
#include <tessera/nn/layers.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera::inline v0::nn {

namespace {

// Converts x to the layer's compute dtype, if it has one.
Array in(const std::optional<DType>& dtype, const Operand& x) {
  return dtype ? astype(x, *dtype) : x.array;
}

void need_float(const char* layer, const std::optional<DType>& dtype, const SourceLoc& loc) {
  if (!dtype || is_floating(*dtype)) return;
  Message(layer)
      .problem("its compute dtype is " + std::string(name_of(*dtype)))
      .rule("parameters are fractions, which only floats hold")
      .from(loc)
      .advice("ts::bf16 or ts::f16, or none for the parameters' own dtype")
      .raise<DTypeError>();
}

}  // namespace

Linear linear(const Array& key, std::int64_t inputs, std::int64_t outputs, const LinearOptions& o,
              std::source_location loc) {
  const InFunction called("linear", loc);
  need_key("linear", key, loc);
  need_sizes("linear", {inputs, outputs}, loc);
  return {o.init(key, {inputs, outputs}, DType::float32, loc), o.bias ? zeros({outputs}) : Array(),
          o.dtype};
}
Array Linear::operator()(Operand x) const {
  const InFunction called("Linear", x.loc);
  need_parameter("Linear", "weight", weight, "linear(key, in, out)", x.loc);
  need_float("Linear", dtype, x.loc);
  if (weight.ndim() != 2)
    Message("Linear")
        .problem("its weight is " + describe(weight))
        .rule("a weight has two axes: features in, features out")
        .from(x.loc)
        .advice(kStackedAdvice)
        .raise<ShapeError>();
  need_array("Linear", "x", x.array, x.loc);
  if (x.array.ndim() < 1 || x.array.shape(-1) != weight.shape(0))
    Message("Linear")
        .problem("x is " + describe(x.array) + ", the layer takes " +
                 std::to_string(weight.shape(0)) + " features: its weight is " + describe(weight))
        .rule("features are the last axis of x")
        .from(x.loc)
        .advice(
            "make the layer with linear(key, in, out) for the features that x has, or flatten "
            "the axes before it: x.reshape(batch, -1)")
        .raise<ShapeError>();
  Array y = dot(Operand(in(dtype, x), x.loc), in(dtype, weight));
  if (bias.is_empty()) return y;
  need_entries("Linear", "bias", bias, weight.shape(1), "feature", x.loc);
  return y + in(dtype, bias);
}

Conv conv(const Array& key, std::int64_t inputs, std::int64_t outputs,
          const std::vector<std::int64_t>& kernel, const ConvLayerOptions& o,
          std::source_location loc) {
  const InFunction called("conv", loc);
  need_key("conv", key, loc);
  need_sizes("conv", {inputs, outputs}, loc);
  if (kernel.empty() ||
      std::any_of(kernel.begin(), kernel.end(), [](std::int64_t n) { return n < 1; }))
    Message("conv")
        .problem(kernel.empty() ? "the kernel has no spatial axis"
                                : "the kernel's extents are " + to_string(Shape(kernel)))
        .rule("it has one extent, at least 1, for each spatial axis of the images")
        .from(loc)
        .advice("{3, 3} for images; for points without space use linear")
        .raise<ShapeError>();
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
  const InFunction called("Conv", x.loc);
  need_parameter("Conv", "weight", weight, "conv(key, in, out, kernel)", x.loc);
  need_float("Conv", dtype, x.loc);
  need_array("Conv", "x", x.array, x.loc);
  if (groups < 1)
    Message("Conv")
        .problem("it has " + std::to_string(groups) + " groups")
        .rule("each group maps in / groups channels to out / groups")
        .from(x.loc)
        .advice("groups = 1")
        .raise<ShapeError>();
  ConvOptions o;
  o.strides = strides;
  o.padding = padding;
  o.kernel_dilation = dilation;
  o.feature_group_count = groups;
  Array y = v0::conv(Operand(in(dtype, x), x.loc), in(dtype, weight), o);
  if (bias.is_empty()) return y;
  need_entries("Conv", "bias", bias, weight.shape(-1), "channel", x.loc);
  return y + in(dtype, bias);
}

Embedding embedding(const Array& key, std::int64_t entries, std::int64_t features,
                    std::source_location loc) {
  const InFunction called("embedding", loc);
  need_key("embedding", key, loc);
  need_sizes("embedding", {entries, features}, loc);
  return {random::normal({key, loc}, {entries, features})};
}
Array Embedding::operator()(Operand x) const {
  const InFunction called("Embedding", x.loc);
  need_parameter("Embedding", "weight", weight, "embedding(key, entries, features)", x.loc);
  if (weight.ndim() != 2)
    Message("Embedding")
        .problem("its weight is " + describe(weight))
        .rule("a weight has two axes: entries, features")
        .from(x.loc)
        .advice(kStackedAdvice)
        .raise<ShapeError>();
  need_array("Embedding", "x", x.array, x.loc);
  if (!is_integer(x.array.dtype()))
    Message("Embedding")
        .problem("x is " + describe(x.array))
        .rule("it picks rows of the weight by integers")
        .from(x.loc)
        .advice("convert with astype(ts::i32)")
        .raise<DTypeError>();
  return take(weight, x, 0);
}

Array Dropout::operator()(Operand x, const Array& key, bool train) const {
  const InFunction called("Dropout", x.loc);
  need_array("Dropout", "x", x.array, x.loc);
  need_number("Dropout", "the rate", rate, 0, 1, "0.1, the share of elements that are dropped",
              x.loc);
  if (!train || rate == 0) return +x;
  if (key.is_empty())
    Message("Dropout")
        .problem("it got no key")
        .rule("with train = true it draws which elements to zero, by a key")
        .from(x.loc)
        .advice(
            "pass a key that is new in each step, such as ts::random::fold_in(key, step), or train "
            "= "
            "false to evaluate")
        .raise<TraceError>();
  need_key("Dropout", key, x.loc);
  Array keep = random::bernoulli(key, 1 - rate, x.array.shape());
  return where(keep, divide(x, 1 - rate), 0);
}

Array BroadcastDropout::operator()(Operand x, const Array& key, bool train) const {
  const InFunction called("BroadcastDropout", x.loc);
  need_array("BroadcastDropout", "x", x.array, x.loc);
  need_number("BroadcastDropout", "the rate", rate, 0, 1,
              "0.1, the share of elements that are dropped", x.loc);
  if (!train || rate == 0) return +x;
  need_key("BroadcastDropout", key, x.loc);
  Shape shape = x.array.shape();
  for (std::int64_t d : broadcast_dims)
    shape[static_cast<std::size_t>(normalize_axis(d, shape.rank(), "BroadcastDropout"))] = 1;
  return where(random::bernoulli({key, x.loc}, 1 - rate, shape), divide(x, 1 - rate), 0);
}
Array SpatialDropout::operator()(Operand x, const Array& key, bool train) const {
  const InFunction called("SpatialDropout", x.loc);
  need_array("SpatialDropout", "x", x.array, x.loc);
  std::vector<std::int64_t> spatial;
  for (int i = 1; i + 1 < x.array.ndim(); ++i) spatial.push_back(i);
  return BroadcastDropout{rate, spatial}(x, key, train);
}

PReLU prelu(double slope) { return {full({}, slope, DType::float32)}; }
Array PReLU::operator()(Operand x) const {
  const InFunction called("PReLU", x.loc);
  need_parameter("PReLU", "slope", slope, "prelu()", x.loc);
  need_array("PReLU", "x", x.array, x.loc);
  const DType d = x.array.dtype();
  return where(x.array >= 0, x, x.array * (is_floating(d) ? slope.astype(d) : slope));
}

Einsum einsum_layer(const Array& key, const std::string& subscripts, const Shape& weight_shape,
                    const std::optional<Shape>& bias, const Initializer& init,
                    std::source_location loc) {
  const InFunction called("einsum_layer", loc);
  need_key("einsum_layer", key, loc);
  need_sizes("einsum_layer", weight_shape, loc);
  return {init(key, weight_shape, DType::float32, loc), bias ? zeros(*bias) : Array(), subscripts};
}
Array Einsum::operator()(Operand x) const {
  const InFunction called("Einsum", x.loc);
  need_parameter("Einsum", "weight", weight, "einsum_layer(key, subscripts, shape)", x.loc);
  need_array("Einsum", "x", x.array, x.loc);
  const Array y = einsum(subscripts, x.array, weight, x.loc);
  return bias.is_empty() ? y : y + bias;
}

namespace {

using Function = Array (*)(Operand);
Function activation_of(const char* name, const std::string& activation, const SourceLoc& loc) {
  static const auto& all = *new std::map<std::string, Function>{
      {"relu", relu},           {"gelu", [](Operand x) { return gelu(std::move(x)); }},
      {"silu", silu},           {"tanh", v0::tanh},
      {"sigmoid", v0::sigmoid}, {"elu", [](Operand x) { return elu(std::move(x)); }},
      {"selu", selu},           {"identity", [](Operand x) { return x.array; }}};
  const auto found = all.find(activation);
  if (found != all.end()) return found->second;
  Message(name)
      .problem("the activation is \"" + activation + "\"")
      .rule(
          "it is \"relu\", \"gelu\", \"silu\", \"tanh\", \"sigmoid\", \"elu\", \"selu\" or "
          "\"identity\"")
      .from(loc)
      .advice("\"relu\"")
      .raise<Error>();
}

}  // namespace

MLP mlp(const Array& key, const std::vector<std::int64_t>& sizes, const std::string& activation,
        const LinearOptions& options, std::source_location loc) {
  const InFunction called("mlp", loc);
  need_key("mlp", key, loc);
  activation_of("mlp", activation, loc);
  if (sizes.size() < 2)
    Message("mlp")
        .problem(std::to_string(sizes.size()) + " sizes")
        .rule("there is one for the input and one for each layer")
        .from(loc)
        .advice("{784, 128, 10}")
        .raise<ShapeError>();
  need_sizes("mlp", Shape(sizes), loc);
  const auto count = static_cast<std::int64_t>(sizes.size()) - 1;
  const Array keys = random::split(Operand(key, loc), count);
  MLP made{{}, activation};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    made.layers.push_back(linear(keys[i], sizes[at], sizes[at + 1], options, loc));
  }
  return made;
}
Array MLP::operator()(Operand x) const {
  const InFunction called("MLP", x.loc);
  const Function f = activation_of("MLP", activation, x.loc);
  Array y = x.array;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    y = layers[i]({y, x.loc});
    if (i + 1 < layers.size()) y = f({y, x.loc});
  }
  return y;
}

}  // namespace tessera::inline v0::nn
