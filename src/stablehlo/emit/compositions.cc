// Ops that are composed of other ops of ours, which have a counterpart in StableHLO.
#include "ops/indexing/gather_rules.h"
#include "ops/indexing/indexing.h"
#include "ops/reduction/general.h"
#include "ops/reduction/window_dims.h"
#include "stablehlo/emit/combining.h"
#include "stablehlo/emit/composed.h"
#include "stablehlo/emit/rules.h"

#include <algorithm>
#include <array>
#include <numbers>

namespace tessera::inline v0::stablehlo::write {

Names composed(Writing& w, Compose compose) {
  Builder b;
  Values in;
  for (const Type& t : w.in_types) in.push_back(b.input(Type(t.dtype, t.shape)));
  return w.block.program(*b.finish_pruned(compose(w, in)), w.in);
}

Value whole(Builder& b, DType dtype, const Shape& shape, std::int64_t value) {
  return ops::broadcast_in_dim(ops::constant(b, scalar_literal(dtype, value)), shape, {});
}

namespace {

Value filled(Value like, const Literal& l) {
  return ops::broadcast_in_dim(ops::constant(*like.builder, l), like.shape(), {});
}

// Whether the window of each index vector is in bounds, in the shape of the indices without the
// vector dimension. `room` is the last start in bounds, for each component.
Value inside(Value indices, std::int64_t vector_dim, const Ints& room) {
  Builder& b = *indices.builder;
  const DType d = indices.dtype();
  const bool implied = vector_dim == indices.rank();
  Value limits = whole(b, d, indices.shape(), 0);
  if (implied) {
    limits = whole(b, d, indices.shape(), room[0]);
  } else {
    Values parts;
    Shape slab = indices.shape();
    slab[static_cast<std::size_t>(vector_dim)] = 1;
    for (std::int64_t r : room) parts.push_back(whole(b, d, slab, r));
    limits = ops::concatenate(parts, static_cast<int>(vector_dim));
  }
  Value ok = ops::and_(ops::ge(indices, ops::zeros_like(indices)), ops::le(indices, limits));
  return implied ? ok : ops::reduce_and(ok, {vector_dim});
}

Value clipped(Value indices, std::int64_t vector_dim, const Ints& room) {
  Builder& b = *indices.builder;
  const DType d = indices.dtype();
  Shape slab = indices.shape();
  const bool implied = vector_dim == indices.rank();
  if (!implied) slab[static_cast<std::size_t>(vector_dim)] = 1;
  Values parts;
  for (std::int64_t r : room) parts.push_back(whole(b, d, slab, r));
  const Value limits =
      parts.size() == 1 ? parts[0] : ops::concatenate(parts, static_cast<int>(vector_dim));
  return ops::clamp(ops::zeros_like(indices), indices, limits);
}

// The indices in a dtype that holds the operand's extents, which a narrow one may not.
Value wide_enough(Value indices) { return ops::convert(indices, DType::int64); }

Values gather_with_mask(const Writing& w, const Values& in) {
  const ops::GatherDims d = ops::gather_dims(w.attrs);
  const Ints& sizes = w.attrs.ints("slice_sizes");
  const Value y = ops::gather(in[0], in[1], d, sizes, "clip");
  Ints room;
  for (std::int64_t k : d.start_index_map)
    room.push_back(in[0].shape()[static_cast<std::size_t>(k)] - sizes[static_cast<std::size_t>(k)]);
  if (room.empty()) return {y};
  const Value ok = inside(wide_enough(in[1]), d.index_vector_dim, room);
  Ints dims;
  for (int i = 0; i < y.rank(); ++i)
    if (std::find(d.offset_dims.begin(), d.offset_dims.end(), i) == d.offset_dims.end())
      dims.push_back(i);
  const Value mask = ops::broadcast_in_dim(ok, y.shape(), dims);
  const bool zero = w.attrs.str("mode") == "zero";
  const Value otherwise = zero ? ops::zeros_like(y) : filled(y, ops::fill_value(y.dtype()));
  return {ops::select(mask, y, otherwise)};
}

Values scatter_clipped(const Writing& w, const Values& in) {
  const ops::ScatterDims d = ops::scatter_dims(w.attrs);
  const ops::WindowDimsOf of = ops::window_dims_of(d, in[2].rank(), in[0].rank(), in[1].rank());
  Shape window(in[0].shape());
  for (std::size_t i = 0; i < window.size(); ++i) window[i] = 1;
  for (std::size_t k = 0; k < of.window.size(); ++k)
    window[static_cast<std::size_t>(of.operand_window[k])] =
        in[2].shape()[static_cast<std::size_t>(of.window[k])];
  Ints room;
  for (std::int64_t k : d.scatter_dims_to_operand_dims)
    room.push_back(in[0].shape()[static_cast<std::size_t>(k)] -
                   window[static_cast<std::size_t>(k)]);
  const Value indices =
      room.empty() ? in[1] : clipped(wide_enough(in[1]), d.index_vector_dim, room);
  Attrs attrs = w.attrs;
  attrs.set("mode", "drop");
  return in[0].builder->emit(w.op, std::array{in[0], indices, in[2]}, attrs);
}

// The position of the extremum: the first of the elements that equal it or are NaN.
template <bool kGreatest>
Values place_of_extremum(const Writing& w, const Values& in) {
  const std::int64_t axis = w.attrs.i("axis");
  const Value x = in[0];
  const Value best = kGreatest ? ops::reduce_max(x, {axis}) : ops::reduce_min(x, {axis});
  Ints dims;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) dims.push_back(i);
  const Value hit =
      ops::or_(ops::eq(x, ops::broadcast_in_dim(best, x.shape(), dims)), ops::ne(x, x));
  const Value at = ops::iota(*x.builder, DType::int32, x.shape(), static_cast<int>(axis));
  const Value last =
      whole(*x.builder, DType::int32, x.shape(), x.shape()[static_cast<std::size_t>(axis)] - 1);
  return {ops::convert(ops::reduce_min(ops::select(hit, at, last), {axis}), w.type().dtype)};
}

// Windows that all begin, or all end, at the edge of the array. 16-bit floats are computed in
// float32.
Values over_all_before(const Writing& w, const Values& in) {
  const DType d = in[0].dtype();
  const bool narrow = is_floating(d) && size_of(d) == 2;
  const Value x = narrow ? ops::convert(in[0], DType::float32) : in[0];
  const auto axis = static_cast<std::size_t>(w.attrs.i("axis"));
  const std::int64_t n = x.shape()[axis];
  if (n == 0 || x.shape().count() == 0) return in;
  ops::WindowDims dims;
  dims.window = Ints(static_cast<std::size_t>(x.rank()), 1);
  dims.strides = dims.base_dilation = dims.window_dilation = dims.window;
  dims.pad_low = dims.pad_high = Ints(dims.window.size(), 0);
  dims.window[axis] = n;
  (w.attrs.flag("reverse") ? dims.pad_high : dims.pad_low)[axis] = n - 1;
  Builder body;
  const Value a = body.input(Type(x.dtype(), {})), b = body.input(Type(x.dtype(), {}));
  const auto combined = [&] {
    switch (w.op.combiner) {
      case Combiner::mul: return ops::mul(a, b);
      case Combiner::max: return ops::max(a, b);
      case Combiner::min: return ops::min(a, b);
      default: return ops::add(a, b);
    }
  }();
  const Value init = ops::constant(*x.builder, neutral_element(w.op.combiner, x.dtype()));
  // The padding is the neutral element, so it does not affect the result.
  Value padded = ops::pad(x, init, dims.pad_low, dims.pad_high, Ints(dims.window.size(), 0));
  dims.pad_low = dims.pad_high = Ints(dims.window.size(), 0);
  const Value y =
      ops::reduce_window(Values{padded}, Values{init}, body.finish(Values{combined}), dims)[0];
  return {narrow ? ops::convert(y, d) : y};
}

Values power_of_two(const Writing&, const Values& in) {
  const DType d = in[0].dtype();
  const bool narrow = is_floating(d) && size_of(d) == 2;
  const Value x = narrow ? ops::convert(in[0], DType::float32) : in[0];
  const Value y = ops::exp(ops::mul(x, ops::full_like(x, std::numbers::ln2)));
  return {narrow ? ops::convert(y, d) : y};
}

}  // namespace

Names exp2(Writing& w) { return composed(w, power_of_two); }
Names arg_max(Writing& w) { return composed(w, place_of_extremum<true>); }
Names arg_min(Writing& w) { return composed(w, place_of_extremum<false>); }
Names running(Writing& w) { return composed(w, over_all_before); }
Names masked_gather(Writing& w) { return composed(w, gather_with_mask); }
Names clipped_scatter(Writing& w) { return composed(w, scatter_clipped); }

}  // namespace tessera::inline v0::stablehlo::write
