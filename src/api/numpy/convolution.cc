#include <tessera/convolution.h>

#include "api/trace/composite.h"

#include <algorithm>
#include <cctype>

namespace tessera::inline v0 {

using detail::composite1;

namespace {

Ints or_ones(const std::vector<std::int64_t>& v, int n, const char* name, const char* what,
             const SourceLoc& loc) {
  if (v.empty()) return Ints(static_cast<std::size_t>(n), 1);
  if (const std::int64_t most = *std::max_element(v.begin(), v.end()); most > INT32_MAX)
    Message(name)
        .problem(std::string(what) + " has an entry " + std::to_string(most))
        .rule("an entry is at most " + std::to_string(INT32_MAX))
        .from(loc)
        .advice("check the arithmetic that gave it")
        .raise<ShapeError>();
  if (static_cast<int>(v.size()) != n || *std::min_element(v.begin(), v.end()) < 1)
    Message(name)
        .problem(std::string(what) + " has " + std::to_string(v.size()) +
                 (v.size() == 1 ? " entry" : " entries") + ", the smallest " +
                 std::to_string(*std::min_element(v.begin(), v.end())))
        .rule("one positive entry for each of the " + std::to_string(n) + " spatial axes")
        .from(loc)
        .advice("write {" +
                [&] {
                  std::string twos = "2";
                  for (int i = 1; i < n; ++i) twos += ", 2";
                  return twos;
                }() +
                "}")
        .raise<ShapeError>();
  return v;
}

struct Edges {
  Ints low, high;
};

// SAME pads so that the output extent is ceil(n / stride); if the total padding is odd, the extra
// element goes after the data (SAME_LOWER: before it).
Edges edges(const Padding& padding, const Ints& input, const Ints& window, const Ints& strides,
            const char* name, const SourceLoc& loc) {
  Edges e;
  std::size_t n = input.size();
  std::string kind = padding.name();
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool same = kind == "SAME", same_lower = kind == "SAME_LOWER";
  if (!kind.empty() && !same && !same_lower && kind != "VALID")
    Message(name)
        .problem("the padding is \"" + padding.name() + "\"")
        .rule(
            "a padding is \"SAME\", \"SAME_LOWER\", \"VALID\" or a pair of widths for each spatial "
            "axis")
        .from(loc)
        .advice("use \"SAME\" to keep the extents, \"VALID\" for no padding")
        .raise<ShapeError>();
  if (padding.name().empty() && padding.widths().size() != n)
    Message(name)
        .problem("the padding has " + std::to_string(padding.widths().size()) + " pairs")
        .rule("one pair (before, after) for each of the " + std::to_string(n) + " spatial axes")
        .from(loc)
        .advice("use {0, 0} for axes without padding")
        .raise<ShapeError>();
  for (const auto& [before, after] : padding.widths())
    if (std::max(std::abs(before), std::abs(after)) > INT32_MAX)
      Message(name)
          .problem("the padding has the widths " + std::to_string(before) + " and " +
                   std::to_string(after))
          .rule("a width is at most " + std::to_string(INT32_MAX))
          .from(loc)
          .advice("check the arithmetic that gave it")
          .raise<ShapeError>();
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t low = 0, high = 0;
    if (same || same_lower) {
      std::int64_t out = (input[i] + strides[i] - 1) / strides[i];
      std::int64_t total = std::max<std::int64_t>(0, (out - 1) * strides[i] + window[i] - input[i]);
      low = same ? total / 2 : total - total / 2, high = total - low;
    } else if (kind.empty()) {
      low = padding.widths()[i].first, high = padding.widths()[i].second;
    }
    e.low.push_back(low);
    e.high.push_back(high);
  }
  return e;
}

void need_spatial(const char* name, const Value& x, const SourceLoc& loc) {
  if (x.rank() >= 3) return;
  Message(name)
      .problem("x has shape " + to_string(x.shape()))
      .rule("it has a batch axis first, then spatial axes, then channels")
      .from(loc)
      .advice("add the missing axis with expand_dims; for one example write x[newaxis]")
      .raise<ShapeError>();
}

// Extends a window over the spatial axes to all axes.
ops::WindowDims spatial_window(const Value& x, const std::vector<std::int64_t>& window,
                               const std::vector<std::int64_t>& strides, const Padding& padding,
                               const char* name, const SourceLoc& loc) {
  need_spatial(name, x, loc);
  int spatial = x.rank() - 2;
  Ints size = or_ones(window, spatial, name, "window", loc);
  Ints step = strides.empty() ? size : or_ones(strides, spatial, name, "strides", loc);
  Ints extents(x.shape().begin() + 1, x.shape().end() - 1);
  Edges e = edges(padding, extents, size, step, name, loc);
  auto around = [](Ints v, std::int64_t edge) {
    v.insert(v.begin(), edge);
    v.push_back(edge);
    return v;
  };
  Ints ones(static_cast<std::size_t>(x.rank()), 1);
  return {around(size, 1), around(step, 1), around(e.low, 0), around(e.high, 0), ones, ones};
}

}  // namespace

Array conv(Operand x, Operand kernel, const ConvOptions& o) {
  return composite1(
      "conv", {x.array, kernel.array}, x.loc, [&](Builder&, std::span<const Value> in) {
        Value a = in[0], k = in[1];
        need_spatial("conv", a, x.loc);
        detail::promote_dtypes(a, k);
        int spatial = a.rank() - 2;
        if (k.rank() != a.rank())
          Message("conv")
              .problem("x has shape " + to_string(a.shape()) + ", the kernel " +
                       to_string(k.shape()))
              .rule(
                  "x is (batch, spatial axes, channels) and the kernel (spatial axes, channels "
                  "in, channels out), with as many spatial axes: x has " +
                  std::to_string(spatial) + ", the kernel " + std::to_string(k.rank() - 2))
              .from(x.loc)
              .advice(k.rank() == a.rank() + 1
                          ? std::string("add the batch axis: for one example write x[newaxis]")
                          : "give the kernel " + std::to_string(a.rank()) + " axes")
              .raise<ShapeError>();
        std::int64_t channels = a.shape().back(),
                     expected =
                         k.shape()[static_cast<std::size_t>(spatial)] * o.feature_group_count;
        if (o.feature_group_count < 1)
          Message("conv")
              .problem("feature_group_count is " + std::to_string(o.feature_group_count))
              .rule("channels are cut into one group or more")
              .from(x.loc)
              .advice("1 is no groups; as many as channels is a depthwise convolution")
              .raise<ShapeError>();
        if (channels != expected)
          Message("conv")
              .problem("x of shape " + to_string(a.shape()) + " has " + std::to_string(channels) +
                       " channels, the kernel of shape " + to_string(k.shape()) + " takes " +
                       std::to_string(expected))
              .rule("channels of x = channels in of the kernel x groups = " +
                    std::to_string(k.shape()[static_cast<std::size_t>(spatial)]) + " x " +
                    std::to_string(o.feature_group_count))
              .from(x.loc)
              .advice("channels are the last axis of x: transpose channels-first data")
              .raise<ShapeError>();
        ops::ConvDims d;
        d.strides = or_ones(o.strides, spatial, "conv", "strides", x.loc);
        d.lhs_dilation = or_ones(o.input_dilation, spatial, "conv", "input_dilation", x.loc);
        d.rhs_dilation = or_ones(o.kernel_dilation, spatial, "conv", "kernel_dilation", x.loc);
        d.feature_groups = o.feature_group_count;
        Ints extents, window;
        for (int i = 0; i < spatial; ++i) {
          std::size_t s = static_cast<std::size_t>(i);
          extents.push_back((a.shape()[s + 1] - 1) * d.lhs_dilation[s] + 1);
          window.push_back((k.shape()[s] - 1) * d.rhs_dilation[s] + 1);
          d.rhs_spec.push_back(i);
        }
        Edges e = edges(o.padding, extents, window, d.strides, "conv", x.loc);
        d.pad_low = e.low;
        d.pad_high = e.high;
        d.lhs_spec = {0, spatial + 1};
        d.rhs_spec.insert(d.rhs_spec.begin(), {spatial + 1, spatial});
        for (int i = 0; i < spatial; ++i) d.lhs_spec.push_back(i + 1);
        d.out_spec = d.lhs_spec;
        return ops::convolution(a, k, d);
      });
}

Array max_pool(Operand x, const std::vector<std::int64_t>& window,
               const std::vector<std::int64_t>& strides, const Padding& padding) {
  return composite1("max_pool", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::reduce_window("reduce_window_max", in[0],
                              spatial_window(in[0], window, strides, padding, "max_pool", x.loc));
  });
}

Array avg_pool(Operand x, const std::vector<std::int64_t>& window,
               const std::vector<std::int64_t>& strides, const Padding& padding) {
  return composite1("avg_pool", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = detail::to_inexact(in[0]);
    ops::WindowDims w = spatial_window(v, window, strides, padding, "avg_pool", x.loc);
    Value s = ops::reduce_window("reduce_window_sum", v, w);
    bool padded = std::any_of(w.pad_low.begin(), w.pad_low.end(), [](auto p) { return p != 0; }) ||
                  std::any_of(w.pad_high.begin(), w.pad_high.end(), [](auto p) { return p != 0; });
    double n = 1;
    for (std::int64_t d : w.window) n *= static_cast<double>(d);
    Value count = padded ? ops::reduce_window("reduce_window_sum", ops::full_like(v, 1), w)
                         : ops::full_like(s, n);
    return ops::div(s, count);
  });
}

}  // namespace tessera::inline v0
