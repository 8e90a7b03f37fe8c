// Elements by positions along one axis: take, take_along_axis, one_hot; and boxes at positions that
// are arrays: dynamic_slice, dynamic_update_slice.
#include "api/indexing.h"

#include <tessera/manipulation.h>

namespace tessera::inline v0 {

namespace detail {

Value wrap_negative(Value positions, std::int64_t n) {
  if (is_unsigned_integer(positions.dtype())) return ops::convert(positions, DType::int32);
  Value negative = ops::lt(positions, ops::zeros_like(positions));
  Value wrapped = ops::add(positions, ops::full_like(positions, static_cast<double>(n)));
  return ops::convert(ops::select(negative, wrapped, positions),
                      n > 0x7fffffff ? DType::int64 : DType::int32);
}

Value take_axis(Value x, Value positions, int axis, const std::string& mode) {
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
      .problem("the positions are " + to_string(t))
      .rule("positions are integers")
      .from(positions.loc)
      .advice("convert with astype(ts::i32)")
      .raise<DTypeError>();
}
}  // namespace

Array take(Operand x, Operand positions, std::optional<std::int64_t> axis) {
  check_positions("take", positions);
  return detail::composite1(
      "take", {x.array, positions.array}, x.loc, [&](Builder&, std::span<const Value> in) {
        Value v = axis ? in[0] : ops::reshape(in[0], Shape{in[0].shape().count()});
        const int a = normalize_axis(axis.value_or(0), v.rank(), "take", x.loc);
        if (v.shape()[static_cast<std::size_t>(a)] == 0 && in[1].shape().count() > 0)
          Message("take")
              .problem("positions of shape " + to_string(in[1].shape()) + " along axis " +
                       std::to_string(a) + " of shape " + to_string(v.shape()))
              .rule("an axis without elements has no positions")
              .from(x.loc)
              .advice("check the size first")
              .raise<ShapeError>();
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
        for (int i = 0; fits && i < v.rank(); ++i)
          fits = i == a ||
                 p.shape()[static_cast<std::size_t>(i)] == v.shape()[static_cast<std::size_t>(i)];
        if (!fits)
          Message("take_along_axis")
              .problem("positions of shape " + to_string(p.shape()) + " for an array of shape " +
                       to_string(v.shape()))
              .rule("the shapes are equal but for axis " + std::to_string(a))
              .from(x.loc)
              .advice("broadcast the positions first")
              .raise<ShapeError>();
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
        Shape shape = in[0].shape();
        shape.push_back(classes);
        Value l = ops::broadcast_in_dim(in[0], shape,
                                        detail::normalize_axes({}, in[0].rank(), "one_hot", {}));
        return ops::convert(ops::eq(l, ops::iota(b, in[0].dtype(), shape, shape.rank() - 1)),
                            dtype);
      });
}

Array dynamic_slice(Operand x, const std::vector<Array>& starts, const Shape& sizes) {
  for (const Array& start : starts) check_positions("dynamic_slice", {start, x.loc});
  std::vector<Array> all{x.array};
  all.insert(all.end(), starts.begin(), starts.end());
  return detail::composite1("dynamic_slice", all, x.loc, [&](Builder&, std::span<const Value> in) {
    Values s;
    for (const Value& v : in.subspan(1)) s.push_back(ops::convert(v, DType::int32));
    return ops::dynamic_slice(in[0], s, sizes.to_vector());
  });
}

Array dynamic_update_slice(Operand x, Operand update, const std::vector<Array>& starts) {
  for (const Array& start : starts) check_positions("dynamic_update_slice", {start, x.loc});
  std::vector<Array> all{x.array, update.array};
  all.insert(all.end(), starts.begin(), starts.end());
  return detail::composite1("dynamic_update_slice", all, x.loc,
                            [&](Builder&, std::span<const Value> in) {
                              Values s;
                              for (const Value& v : in.subspan(2))
                                s.push_back(ops::convert(v, DType::int32));
                              return ops::dynamic_update_slice(
                                  in[0], ops::convert(in[1], in[0].dtype(), in[0].type().weak), s);
                            });
}

}  // namespace tessera::inline v0
