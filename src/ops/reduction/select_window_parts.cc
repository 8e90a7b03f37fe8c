// The sharding rule and local rules of selecting an element per window.
#include "ops/contraction/conv_dims.h"
#include "ops/fetch.h"
#include "ops/reduction/select_window.h"

#include <algorithm>

namespace tessera::inline v0::ops {

namespace {

// Padding at the end of the array never wins against an element before it. Padding at the front
// wins if all elements of a window equal the padding (the smallest value); then element 0 is the
// window's first maximum, so a window that selects the padding selects element 0. Only the first
// device may therefore read padding at the front.
bool is_fetched(const WindowDims& d, int i) {
  if (d.base_dilation[i] != 1) return false;
  return d.pad_low[i] <= 0 ||
         (d.window_dilation[i] == 1 && d.pad_low[i] < d.window[i] && d.pad_low[i] <= d.strides[i]);
}

// The windows that contain an element of the array; they are `strides` apart in it.
FactorRule::Window holders_along(const Shape& x, const WindowDims& d, int i) {
  const std::int64_t span = dilated(d.window[i], d.window_dilation[i]);
  return {.extent = windowed_shape(x, d)[i],
          .results = x[i],
          .low = span - 1 - d.pad_low[i],
          .span = span,
          .dilation = d.strides[i]};
}

// The elements of the array around a shard that these windows read.
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

// Both operands of a gather are fetched like the array.
std::vector<FactorRule::Window> fetched(const Shape& x, const WindowDims& d, int i, bool scatter) {
  if (!is_fetched(d, i) || x[i] == 0) return {};
  std::vector<FactorRule::Window> both(2, window_along(x, d, i));
  if (scatter) both = {read_along(x, d, i), holders_along(x, d, i)};
  both[1].input = 1;
  return both;
}

// The elements [begin, end) along a dimension.
Value rows_between(Value x, int dim, std::int64_t begin, std::int64_t end) {
  Ints start(x.shape().size(), 0), limit = x.shape().to_vector();
  start[static_cast<std::size_t>(dim)] = begin;
  limit[static_cast<std::size_t>(dim)] = end;
  return slice(x, start, limit, Ints(start.size(), 1));
}
Ints all_dims(Value x) {
  Ints dims;
  for (int d = 0; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace

FactorRule select_window_sharding(const ShardArgs& a, bool scatter) {
  FactorRule rule;
  const Shape& x = a.inputs[0].shape;
  const WindowDims d = window_dims(a.attrs);
  WindowFactors f = window_factors(rule, x, d, [&](int i) { return fetched(x, d, i, scatter); });
  rule.input_dims(f.array);
  rule.input_dims(scatter ? f.windows : f.array);
  rule.output_dims(scatter ? f.array : f.windows);
  return rule;
}

Values select_gather_local(const LocalArgs& a) {
  const Shape& whole = a.whole_inputs[0].shape;
  const WindowDims d = window_dims(a.attrs);
  const Shape windows = windowed_shape(whole, d);
  WindowDims part = d;
  Value x = a.inputs[0], tangent = a.inputs[1];
  const Combiner how = selects_max(a.attrs) ? Combiner::max : Combiner::min;
  for (int i = 0; i < whole.rank(); ++i) {
    if (a.outputs[0][i] == windows[i] || tiles(whole, d, i)) continue;
    const FactorRule::Window w = window_along(whole, d, i);
    const Strings& axes = a.output_specs[0].axes_of(i);
    const std::int64_t parts = a.parts(axes);
    const Value edge = rows_between(tangent, i, 0, 1);
    const Stretch s = fetch_window(x, i, w, axes, parts,
                                   Around::of(constant(a.b, neutral_literal(x.dtype(), how))));
    fetch_window(tangent, i, w, axes, parts, Around::zeros());
    if (w.low > 0) {
      const Value at = iota(a.b, DType::int64, {s.count}, 0);
      const Value before = and_(lt(at, full_like(at, static_cast<double>(w.low))),
                                everywhere(is_first(a.b, axes, parts), at.shape()));
      tangent = select(broadcast_in_dim(before, tangent.shape(), {i}),
                       broadcast_in_dim(edge, tangent.shape(), all_dims(tangent)), tangent);
    }
    part.pad_low[i] = s.low;
    part.pad_high[i] = s.high;
  }
  return a.b.emit(a.op, Values{x, tangent}, select_attrs(part, whole.rank(), selects_max(a.attrs)));
}

// All windows that contain an element of the shard contribute. Contributions to elements outside it
// are dropped, and those to padding in front of the array go to element 0.
Values select_scatter_local(const LocalArgs& a) {
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
    fetch_window(x, i, read, axes, a.parts(axes),
                 Around::of(constant(a.b, neutral_literal(x.dtype(), how))));
    fetch_window(source, i, holders_along(whole, d, i), axes, a.parts(axes), Around::zeros());
    part.pad_low[k] = part.pad_high[k] = 0;
    low[k] = -read.low;
    high[k] = mine - (x.shape()[k] - read.low);
  }
  Value y =
      a.b.emit(a.op, Values{x, source}, select_attrs(part, whole.rank(), selects_max(a.attrs)))[0];
  for (int i = 0; i < whole.rank(); ++i) {
    const std::int64_t before = -low[static_cast<std::size_t>(i)];
    if (before <= 0 || d.pad_low[i] <= 0) continue;
    const Strings& axes = a.output_specs[0].axes_of(i);
    const Value first = is_first(a.b, axes, a.parts(axes));
    Value given = rows_between(y, i, 0, before);
    given = select(everywhere(first, given.shape()), given, zeros_like(given));
    Shape one = given.shape();
    one[i] = 1;
    given = reshape(reduce_sum(given, {i}), one);
    Ints at(rank, 0), behind = at;
    at[static_cast<std::size_t>(i)] = before;
    behind[static_cast<std::size_t>(i)] = y.shape()[i] - before - 1;
    y = add(y, pad(given, scalar(a.b, y.dtype(), 0), at, behind, Ints(rank, 0)));
  }
  return {pad(y, scalar(a.b, y.dtype(), 0), low, high, Ints(rank, 0))};
}

}  // namespace tessera::inline v0::ops
