#include <tessera/nn/layers.h>

#include "nn/checks.h"

#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include <algorithm>
#include <map>

namespace tessera::inline v0::nn {

namespace {

Array in(const std::optional<DType>& dtype, const Array& x) { return dtype ? x.astype(*dtype) : x; }

// The padding of the dilated input: SAME gives n * stride elements, VALID every position that the
// kernel reaches.
std::pair<std::int64_t, std::int64_t> transposed_padding(const std::string& padding,
                                                         std::int64_t kernel, std::int64_t stride) {
  if (padding == "SAME") {
    const std::int64_t both = kernel + stride - 2;
    const std::int64_t before = stride > kernel - 1 ? kernel - 1 : (both + 1) / 2;
    return {before, both - before};
  }
  const std::int64_t both = kernel + stride - 2 + std::max<std::int64_t>(kernel - stride, 0);
  return {kernel - 1, both - (kernel - 1)};
}

}  // namespace

ConvTranspose conv_transpose(const Array& key, std::int64_t inputs, std::int64_t outputs,
                             const std::vector<std::int64_t>& kernel, const ConvLayerOptions& o,
                             std::source_location loc) {
  const InFunction called("conv_transpose", loc);
  if (o.groups != 1)
    Message("conv_transpose")
        .problem(std::to_string(o.groups) + " groups")
        .rule("a transposed convolution has one")
        .from(loc)
        .advice("leave groups out")
        .raise<ShapeError>();
  const Conv made = conv(key, inputs, outputs, kernel, o, loc);
  return {made.weight, made.bias, made.strides, made.dilation, made.padding, made.dtype};
}
Array ConvTranspose::operator()(Operand x) const {
  const InFunction called("ConvTranspose", x.loc);
  need_parameter("ConvTranspose", "weight", weight, "conv_transpose(key, in, out, kernel)", x.loc);
  need_array("ConvTranspose", "x", x.array, x.loc);
  const auto spatial = static_cast<std::size_t>(std::max(0, weight.ndim() - 2));
  const auto at = [&](const std::vector<std::int64_t>& v, std::size_t i) {
    return v.empty() ? 1 : v[i];
  };
  Message m("ConvTranspose");
  m.from(x.loc);
  if ((padding != "SAME" && padding != "VALID") ||
      (!strides.empty() && strides.size() != spatial) ||
      (!dilation.empty() && dilation.size() != spatial))
    m.problem("padding \"" + padding + "\", " + std::to_string(strides.size()) + " strides and " +
              std::to_string(dilation.size()) + " dilations for a weight " + describe(weight))
        .rule("padding is \"SAME\" or \"VALID\", and there is a stride for each spatial axis")
        .advice("strides {2, 2} for images")
        .raise<ShapeError>();
  for (std::size_t i = 0; i < spatial; ++i)
    if (at(strides, i) < 1 || at(dilation, i) < 1)
      m.problem("stride " + std::to_string(at(strides, i)) + " and dilation " +
                std::to_string(at(dilation, i)))
          .rule("both are at least 1")
          .advice("leave them out for 1")
          .raise<ShapeError>();
  ConvOptions o;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  for (std::size_t i = 0; i < spatial; ++i)
    widths.push_back(transposed_padding(
        padding, (weight.shape(static_cast<int>(i)) - 1) * at(dilation, i) + 1, at(strides, i)));
  o.padding = Padding(widths);
  o.input_dilation = strides;
  o.kernel_dilation = dilation;
  const Array y = v0::conv({in(dtype, x.array), x.loc}, in(dtype, weight), o);
  if (bias.is_empty()) return y;
  need_entries("ConvTranspose", "bias", bias, weight.shape(-1), "channel", x.loc);
  return y + in(dtype, bias);
}

Conv depthwise_conv(const Array& key, std::int64_t channels, std::int64_t multiplier,
                    const std::vector<std::int64_t>& kernel, const ConvLayerOptions& options,
                    std::source_location loc) {
  const InFunction called("depthwise_conv", loc);
  need_sizes("depthwise_conv", {channels, multiplier}, loc);
  ConvLayerOptions o = options;
  o.groups = channels;
  return conv(key, channels, channels * multiplier, kernel, o, loc);
}

Array min_pool(Operand x, const std::vector<std::int64_t>& window,
               const std::vector<std::int64_t>& strides, const Padding& padding) {
  const InFunction called("min_pool", x.loc);
  need_array("min_pool", "x", x.array, x.loc);
  // Reverses the order. For integers, only the complement does that without wrapping.
  const auto turned = [&](const Array& v) {
    return Operand(is_floating(v.dtype()) ? -v : bitwise_not(v), x.loc);
  };
  return turned(max_pool(turned(x.array), window, strides, padding)).array;
}

Array adaptive_avg_pool(Operand x, const std::vector<std::int64_t>& sizes) {
  const InFunction called("adaptive_avg_pool", x.loc);
  need_array("adaptive_avg_pool", "x", x.array, x.loc);
  if (x.array.ndim() != static_cast<int>(sizes.size()) + 2 ||
      std::any_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n < 1; }))
    Message("adaptive_avg_pool")
        .problem("x is " + describe(x.array) + ", the sizes are " + to_string(Shape(sizes)))
        .rule("x is (batch, spatial..., channels), with a size of at least 1 for each spatial axis")
        .from(x.loc)
        .advice("{1, 1} for the mean of each image")
        .raise<ShapeError>();
  constexpr std::int64_t kMost = 65536;
  if (!sizes.empty() && *std::max_element(sizes.begin(), sizes.end()) > kMost)
    Message("adaptive_avg_pool")
        .problem("the sizes are " + to_string(Shape(sizes)))
        .rule("a size is at most " + std::to_string(kMost) + ": each window has a mean of its own")
        .from(x.loc)
        .advice("repeat(x, n, axis) gives each element n times")
        .raise<ShapeError>();
  Array y = x.array;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const int axis = static_cast<int>(k) + 1;
    const std::int64_t n = y.shape(axis), m = sizes[k];
    std::vector<Array> windows;
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t from = i * n / m, to = ((i + 1) * n + m - 1) / m;
      std::vector<AxisIndex> index(static_cast<std::size_t>(axis), AxisIndex(all));
      index.emplace_back(range(from, to));
      windows.push_back(mean(y.get(index), axis, true));
    }
    y = concatenate(windows, axis);
  }
  return y;
}
Array AdaptiveAvgPool::operator()(Operand x) const {
  return adaptive_avg_pool(std::move(x), sizes);
}

}  // namespace tessera::inline v0::nn
