// Selections in windows on parts of their operands.
#include "ops/contraction/conv_dims.h"
#include "ops/reduction/select_window.h"

#include <algorithm>

namespace tessera::inline v0::ops {

namespace {

// Parts of a dimension fetch what they lack where nothing lies in front of the array: what is put
// behind it is never preferred to an element before it, but in front it would be.
bool is_fetched(const WindowDims& d, int i) { return d.pad_low[i] <= 0 && d.base_dilation[i] == 1; }

// Of the windows that hold an element of the array: they lie `strides` apart in it.
FactorRule::Window holders_along(const Shape& x, const WindowDims& d, int i) {
  const std::int64_t span = dilated(d.window[i], d.window_dilation[i]);
  return {.extent = windowed_shape(x, d)[i],
          .results = x[i],
          .low = span - 1 - d.pad_low[i],
          .span = span,
          .dilation = d.strides[i]};
}

// What these windows read of the array, which lies around the part.
FactorRule::Window read_along(const Shape& x, const WindowDims& d, int i) {
  const FactorRule::Window h = holders_along(x, d, i);
  const std::int64_t stride = d.strides[i],
                     first = -((h.low >= 0 ? h.low : h.low - stride + 1) / stride) * stride,
                     phase = first + h.low,
                     more = std::max<std::int64_t>(0, (h.span - 1 - phase + stride - 1) / stride);
  return {.extent = x[i],
          .results = x[i],
          .low = d.pad_low[i] - first,
          .span = 1 - stride + h.span + more * stride};
}

// Both operands of a gather lie as the array does.
std::vector<FactorRule::Window> fetched(const Shape& x, const WindowDims& d, int i, bool scatter) {
  if (!is_fetched(d, i)) return {};
  std::vector<FactorRule::Window> both(2, window_along(x, d, i));
  if (scatter) both = {read_along(x, d, i), holders_along(x, d, i)};
  both[1].input = 1;
  return both;
}

}  // namespace

FactorRule shard_select(const ShardArgs& a, bool scatter) {
  FactorRule rule;
  const Shape& x = a.inputs[0].shape;
  const WindowDims d = window_dims(a.attrs);
  WindowFactors f = window_factors(rule, x, d, [&](int i) { return fetched(x, d, i, scatter); });
  rule.input_dims(f.array);
  rule.input_dims(scatter ? f.windows : f.array);
  rule.output_dims(scatter ? f.array : f.windows);
  return rule;
}

Values local_select_gather(const LocalArgs& a) {
  const Value x = a.inputs[0];
  Values in(a.inputs.begin(), a.inputs.end());
  const Combiner how = selects_max(a.attrs) ? Combiner::max : Combiner::min;
  const WindowDims d = fetch_windows(a, window_dims(a.attrs), a.whole_inputs[0].shape, in,
                                     {constant(a.b, neutral_literal(x.dtype(), how)), {}});
  return a.b.emit(a.op, in, select_attrs(d, x.rank(), selects_max(a.attrs)));
}

// All windows that hold an element of the part give what they give; what they give to others is cut
// off.
Values local_select_scatter(const LocalArgs& a) {
  const Shape& whole = a.whole_inputs[0].shape;
  const WindowDims d = window_dims(a.attrs);
  WindowDims part = d;
  Value x = a.inputs[0], source = a.inputs[1];
  const Combiner how = selects_max(a.attrs) ? Combiner::max : Combiner::min;
  const auto rank = static_cast<std::size_t>(whole.rank());
  Ints low(rank, 0), high(rank, 0);
  for (int i = 0; i < whole.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t mine = a.outputs[0][k];
    if (mine == whole[k] || tiles(whole, d, i)) continue;
    const Strings& axes = a.output_specs[0].axes_of(i);
    const FactorRule::Window read = read_along(whole, d, i);
    fetch_window(x, i, read, axes, whole[k] / mine, constant(a.b, neutral_literal(x.dtype(), how)));
    fetch_window(source, i, holders_along(whole, d, i), axes, whole[k] / mine, std::nullopt);
    part.pad_low[k] = part.pad_high[k] = 0;
    low[k] = -read.low;
    high[k] = mine - (x.shape()[k] - read.low);
  }
  const Value y =
      a.b.emit(a.op, Values{x, source}, select_attrs(part, whole.rank(), selects_max(a.attrs)))[0];
  return {pad(y, scalar(a.b, y.dtype(), 0), low, high, Ints(rank, 0))};
}

}  // namespace tessera::inline v0::ops
