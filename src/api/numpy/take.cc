// Selects elements by position along one axis (take, take_along_axis, one_hot), and blocks at
// computed positions (dynamic_slice, dynamic_update_slice).
#include "api/numpy/indexing.h"

#include <tessera/manipulation.h>

namespace tessera::inline v0 {

namespace detail {

DType index_dtype(std::int64_t n) { return n > INT32_MAX ? DType::int64 : DType::int32; }

namespace {
Value as_index(Value positions, std::int64_t n, bool from_end) {
  const DType from = positions.dtype(), to = index_dtype(n);
  // Compute in a dtype that holds both the positions and the axis.
  const bool wide = size_of(from) == 8 || from == DType::uint32 || to == DType::int64;
  Value p = positions;
  if (from == DType::uint64) {
    const Literal most = scalar_literal(from, std::int64_t{INT64_MAX});
    p = ops::min(p, broadcast_to(ops::constant(*p.builder, most), p.shape()));
  }
  p = ops::convert(p, wide ? DType::int64 : DType::int32);
  if (from_end && !is_unsigned_integer(from)) {
    const Value negative = ops::lt(p, ops::zeros_like(p));
    p = ops::select(negative, ops::add(p, ops::full_like(p, static_cast<double>(n))), p);
  }
  // Clamp out-of-bounds positions to -1 and n, which are still out of bounds.
  if (p.dtype() != to)
    p = ops::clamp(ops::full_like(p, -1), p, ops::full_like(p, static_cast<double>(n)));
  return ops::convert(p, to);
}
}  // namespace

Value wrap_negative(Value positions, std::int64_t n) { return as_index(positions, n, true); }
Value index_value(Value positions, std::int64_t n) { return as_index(positions, n, false); }

Value take_axis(Value x, Value positions, int axis, const std::string& mode) {
  if (x.shape()[static_cast<std::size_t>(axis)] == 0) {  // the positions must be empty, too
    Shape none = x.shape();
    none.erase(none.begin() + axis);
    for (int i = 0; i < positions.rank(); ++i)
      none.insert(none.begin() + axis + i, positions.shape()[static_cast<std::size_t>(i)]);
    return ops::zeros(*x.builder, Type(x.dtype(), none, x.type().weak));
  }
  Value p = wrap_negative(positions, x.shape()[static_cast<std::size_t>(axis)]);
  int pr = p.rank();
  Shape with_vector = p.shape();
  with_vector.push_back(1);
  ops::GatherDims dims;
  Ints sizes = x.shape().to_vector();
  sizes[static_cast<std::size_t>(axis)] = 1;
  dims.collapsed_slice_dims = {axis};
  dims.start_index_map = {axis};
  dims.index_vector_dim = pr;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) dims.offset_dims.push_back(i < axis ? i : i - 1 + pr);
  return ops::gather(x, ops::reshape(p, with_vector), dims, sizes, mode);
}

}  // namespace detail

namespace {
void check_positions(const char* name, const Operand& positions) {
  const Type& t = detail::need(positions.array, name, positions.loc).type;
  if (is_integer(t.dtype)) return;
  Message(name)
      .problem("the positions are " + detail::visible_text(t))
      .rule("positions are integers")
      .from(positions.loc)
      .advice("convert with astype(ts::i32)")
      .raise<DTypeError>();
}
[[noreturn]] void no_positions(const char* name, Value positions, Value x, int axis,
                               const SourceLoc& loc) {
  Message(name)
      .problem("positions of shape " + to_string(positions.shape()) + " along axis " +
               std::to_string(axis) + " of shape " + to_string(x.shape()))
      .rule("an axis without elements has no positions")
      .from(loc)
      .advice("check the size first")
      .raise<ShapeError>();
}
}  // namespace

Array take(Operand x, Operand positions, std::optional<std::int64_t> axis) {
  check_positions("take", positions);
  return detail::composite1(
      "take", {x.array, positions.array}, x.loc, [&](Builder&, std::span<const Value> in) {
        Value v = axis ? in[0] : ops::reshape(in[0], Shape{in[0].shape().count()});
        const int a = normalize_axis(axis.value_or(0), v.rank(), "take", x.loc);
        if (v.shape()[static_cast<std::size_t>(a)] == 0 && in[1].shape().count() > 0)
          no_positions("take", in[1], v, a, x.loc);
        return detail::take_axis(v, in[1], a, "fill");
      });
}

Array take_along_axis(Operand x, Operand positions, std::int64_t axis) {
  check_positions("take_along_axis", positions);
  return detail::composite1(
      "take_along_axis", {x.array, positions.array}, x.loc,
      [&](Builder&, std::span<const Value> in) {
        Value v = in[0], p = in[1];
        int a = normalize_axis(axis, v.rank(), "take_along_axis", x.loc);
        bool fits = p.rank() == v.rank();
        Shape of_x = v.shape(), of_positions = p.shape();
        for (std::size_t i = 0; fits && i < of_x.size(); ++i) {
          if (static_cast<int>(i) == a) continue;
          fits = of_x[i] == of_positions[i] || of_x[i] == 1 || of_positions[i] == 1;
          of_x[i] = of_positions[i] = of_x[i] == 1 ? of_positions[i] : of_x[i];
        }
        if (!fits)
          Message("take_along_axis")
              .problem("positions of shape " + to_string(p.shape()) + " for an array of shape " +
                       to_string(v.shape()))
              .rule("the shapes are equal but for axis " + std::to_string(a) +
                    ", or one where they differ")
              .from(x.loc)
              .advice("give the positions as many axes as the array has")
              .raise<ShapeError>();
        v = detail::broadcast_to(v, of_x);
        p = detail::broadcast_to(p, of_positions);
        if (of_x[static_cast<std::size_t>(a)] == 0) {
          if (p.shape().count() > 0) no_positions("take_along_axis", p, v, a, x.loc);
          return ops::zeros(*v.builder, Type(v.dtype(), p.shape(), v.type().weak));
        }
        p = detail::wrap_negative(p, v.shape()[static_cast<std::size_t>(a)]);
        ops::GatherDims dims;
        Ints sizes(static_cast<std::size_t>(v.rank()), 1);
        for (int i = 0; i < v.rank(); ++i) {
          if (i == a) continue;
          dims.operand_batching_dims.push_back(i);
          dims.start_indices_batching_dims.push_back(i);
        }
        dims.collapsed_slice_dims = {a};
        dims.start_index_map = {a};
        dims.index_vector_dim = p.rank();
        Shape with_vector = p.shape();
        with_vector.push_back(1);
        return ops::gather(v, ops::reshape(p, with_vector), dims, sizes, "fill");
      });
}

Array one_hot(Operand labels, std::int64_t classes, DType dtype) {
  return detail::composite1(
      "one_hot", {labels.array}, labels.loc, [&](Builder& b, std::span<const Value> in) {
        if (!is_integer(in[0].dtype()))
          Message("one_hot")
              .problem("the labels have dtype " + std::string(name_of(in[0].dtype())))
              .rule("labels are integers from 0 to " + std::to_string(classes - 1))
              .from(labels.loc)
              .advice("convert with astype(i32)")
              .raise<DTypeError>();
        if (classes < 0)
          Message("one_hot")
              .problem(std::to_string(classes) + " classes are asked for")
              .rule("their number is 0 or more")
              .from(labels.loc)
              .advice("one more than the largest label")
              .raise<ShapeError>();
        Shape shape = in[0].shape();
        shape.push_back(classes);
        // Compare in a dtype that holds labels and classes; out-of-range labels match none.
        const Value label = detail::index_value(in[0], classes);
        Value l = ops::broadcast_in_dim(label, shape,
                                        detail::normalize_axes({}, in[0].rank(), "one_hot", {}));
        return ops::convert(ops::eq(l, ops::iota(b, label.dtype(), shape, shape.rank() - 1)),
                            dtype);
      });
}

namespace {

// The starts of a block of `x`, with negative ones counted from the end, in a dtype that holds
// every axis.
Values block_starts(const char* name, Value x, std::span<const Value> starts,
                    const SourceLoc& loc) {
  Values s;
  bool wide = false;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    if (!is_integer(starts[k].dtype()))
      Message(name)
          .problem("start " + std::to_string(k) + " is " + detail::visible_text(starts[k].type()))
          .rule("starts are integer scalars, one a dimension")
          .from(loc)
          .advice("convert with astype(ts::i32)")
          .raise<DTypeError>();
    const bool exists = k < static_cast<std::size_t>(x.rank());
    s.push_back(detail::wrap_negative(starts[k], exists ? x.shape()[k] : 0));
    wide = wide || s.back().dtype() == DType::int64;
  }
  for (Value& v : s) v = ops::convert(v, wide ? DType::int64 : DType::int32);
  return s;
}

}  // namespace

Array dynamic_slice(Operand x, const std::vector<Array>& starts, const Shape& sizes) {
  std::vector<Array> all{x.array};
  all.insert(all.end(), starts.begin(), starts.end());
  return detail::composite1("dynamic_slice", all, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::dynamic_slice(in[0], block_starts("dynamic_slice", in[0], in.subspan(1), x.loc),
                              sizes.to_vector());
  });
}

Array dynamic_update_slice(Operand x, Operand update, const std::vector<Array>& starts) {
  std::vector<Array> all{x.array, update.array};
  all.insert(all.end(), starts.begin(), starts.end());
  return detail::composite1(
      "dynamic_update_slice", all, x.loc, [&](Builder&, std::span<const Value> in) {
        return ops::dynamic_update_slice(
            in[0], ops::convert(in[1], in[0].dtype(), in[0].type().weak),
            block_starts("dynamic_update_slice", in[0], in.subspan(2), x.loc));
      });
}

}  // namespace tessera::inline v0
