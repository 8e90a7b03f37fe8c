#include <tessera/stacking.h>

#include "api/numpy/array_helpers.h"
#include "api/numpy/indexing.h"
#include "api/numpy/joining.h"

#include <algorithm>

namespace tessera::inline v0 {

using detail::composed;
using detail::composed1;
using detail::rank_of;

namespace {

using Arrays = std::vector<Array>;
using In = std::span<const Array>;

Array with_leading_axes(const Array& x, int least) {
  const Shape& s = x.shape();
  if (rank_of(x) >= least) return x;
  if (rank_of(x) == 0) return x.reshape(Shape(std::vector<std::int64_t>(least, 1)));
  if (least == 2) return x.reshape(Shape{1, s[0]});
  return rank_of(x) == 1 ? x.reshape(Shape{1, s[0], 1}) : x.reshape(Shape{s[0], s[1], 1});
}
Array with_leading_axes(const char* name, const Operand& x, int least) {
  return composed1(name, {x.array}, x.loc, [&](In in) { return with_leading_axes(in[0], least); });
}
Array joined_along(const char* name, const Arrays& xs, int axis, const SourceLoc& loc,
                   Array (*before)(const Array&)) {
  detail::need_some(name, xs, loc);
  return composed1(name, xs, loc, [&](In in) {
    Arrays parts;
    for (const Array& x : in) parts.push_back(before(x));
    return concatenate(parts, axis);
  });
}

}  // namespace

Array atleast_1d(Operand x) { return with_leading_axes("atleast_1d", x, 1); }
Array atleast_2d(Operand x) { return with_leading_axes("atleast_2d", x, 2); }
Array atleast_3d(Operand x) { return with_leading_axes("atleast_3d", x, 3); }

Array vstack(const Arrays& xs, std::source_location loc) {
  return joined_along("vstack", xs, 0, loc, [](const Array& x) { return with_leading_axes(x, 2); });
}
Array hstack(const Arrays& xs, std::source_location loc) {
  const bool vectors = !xs.empty() && !xs[0].is_empty() && rank_of(xs[0]) < 2;
  return joined_along("hstack", xs, vectors ? 0 : 1, loc,
                      [](const Array& x) { return with_leading_axes(x, 1); });
}
Array dstack(const Arrays& xs, std::source_location loc) {
  return joined_along("dstack", xs, 2, loc, [](const Array& x) { return with_leading_axes(x, 3); });
}
Array column_stack(const Arrays& xs, std::source_location loc) {
  return joined_along("column_stack", xs, 1, loc, [](const Array& x) {
    return rank_of(x) < 2 ? x.reshape(Shape{-1, 1}) : x;
  });
}

Array block(const std::vector<Arrays>& rows, std::source_location loc) {
  Arrays flat;
  for (const Arrays& row : rows) {
    detail::need_some("block", row, loc);
    flat.insert(flat.end(), row.begin(), row.end());
  }
  detail::need_some("block", flat, loc);
  return composed1("block", flat, loc, [&](In in) {
    int rank = 2;
    for (const Array& x : in) rank = std::max(rank, rank_of(x));
    Arrays below;
    for (const Arrays& row : rows) {
      Arrays beside;
      for (const Array& x : in.first(row.size())) {
        Shape s = x.shape();
        while (s.rank() < rank) s.insert(s.begin(), 1);
        beside.push_back(x.reshape(s));
      }
      in = in.subspan(row.size());
      below.push_back(concatenate(beside, rank - 1));
    }
    return concatenate(below, rank - 2);
  });
}

Array append(Operand x, Operand values, std::optional<std::int64_t> axis) {
  return composed1("append", {x.array, values.array}, x.loc, [&](In in) {
    return axis ? concatenate({in[0], in[1]}, *axis) : concatenate({ravel(in[0]), ravel(in[1])});
  });
}

Arrays broadcast_arrays(const Arrays& xs, std::source_location loc) {
  return composed("broadcast_arrays", xs, loc, [&](In in) {
    Shape shape;
    for (const Array& x : in) shape = broadcast_shapes(shape, x.shape(), "broadcast_arrays", loc);
    Arrays out;
    for (const Array& x : in) out.push_back(broadcast_to(x, shape));
    return out;
  });
}

Arrays array_split(Operand x, std::int64_t parts, std::int64_t axis) {
  const InFunction called("array_split", x.loc);
  const Shape& shape = detail::need(x.array, "array_split").type.shape;
  const int a = normalize_axis(axis, shape.rank(), "array_split", x.loc);
  if (parts < 1)
    Message("array_split")
        .problem(std::to_string(parts) + " parts are asked for")
        .rule("there is at least one part")
        .from(x.loc)
        .advice("array_split(x, 2) gives two")
        .raise<ShapeError>();
  detail::need_few_parts("array_split", parts, x.loc);
  const std::int64_t n = shape[static_cast<std::size_t>(a)];
  std::vector<std::int64_t> at;
  for (std::int64_t i = 1; i < parts; ++i) at.push_back(i * (n / parts) + std::min(i, n % parts));
  return split_at(std::move(x), at, a);
}
Arrays array_split(Operand x, const std::vector<std::int64_t>& positions, std::int64_t axis) {
  const InFunction called("array_split", x.loc);
  return split_at(std::move(x), positions, axis);
}

namespace {
// The axis along which hsplit, vsplit or dsplit splits x.
int split_axis(const char* name, const Operand& x, int axis) {
  detail::need(x.array, name, x.loc);
  detail::need_rank_at_least(name, x.array, axis == 1 ? 1 : axis == 0 ? 2 : 3, x.loc);
  return axis == 1 && rank_of(x.array) == 1 ? 0 : axis;
}
Arrays split_along(const char* name, const Operand& x, std::int64_t parts, int axis) {
  const InFunction called(name, x.loc);
  return split(x, parts, split_axis(name, x, axis));
}
Arrays split_along(const char* name, const Operand& x, const std::vector<std::int64_t>& at,
                   int axis) {
  const InFunction called(name, x.loc);
  return split_at(x, at, split_axis(name, x, axis));
}
using Positions = std::vector<std::int64_t>;
}  // namespace

Arrays vsplit(Operand x, std::int64_t parts) { return split_along("vsplit", x, parts, 0); }
Arrays vsplit(Operand x, const Positions& at) { return split_along("vsplit", x, at, 0); }
Arrays hsplit(Operand x, std::int64_t parts) { return split_along("hsplit", x, parts, 1); }
Arrays hsplit(Operand x, const Positions& at) { return split_along("hsplit", x, at, 1); }
Arrays dsplit(Operand x, std::int64_t parts) { return split_along("dsplit", x, parts, 2); }
Arrays dsplit(Operand x, const Positions& at) { return split_along("dsplit", x, at, 2); }

Arrays unstack(Operand x, std::int64_t axis) {
  return composed("unstack", {x.array}, x.loc, [&](In in) {
    const int a = normalize_axis(axis, rank_of(in[0]), "unstack", x.loc);
    detail::need_few_parts("unstack", detail::extent_of(in[0], a), x.loc);
    Arrays out;
    for (std::int64_t i = 0; i < detail::extent_of(in[0], a); ++i)
      out.push_back(detail::element_of(in[0], a, i));
    return out;
  });
}

Array delete_(Operand x, const Positions& positions, std::optional<std::int64_t> axis) {
  return composed1("delete_", {x.array}, x.loc, [&](In in) {
    const Array v = axis ? in[0] : ravel(in[0]);
    const int a = normalize_axis(axis.value_or(0), rank_of(v), "delete_", x.loc);
    const std::int64_t n = detail::extent_of(v, a);
    std::vector<bool> gone(static_cast<std::size_t>(n));
    for (std::int64_t p : positions) {
      if (p < -n || p >= n)
        Message("delete_")
            .problem("position " + std::to_string(p) + " along axis " + std::to_string(a) +
                     " of shape " + to_string(v.shape()))
            .rule("positions are from " + std::to_string(-n) + " to " + std::to_string(n - 1))
            .from(x.loc)
            .advice("leave it out")
            .raise<ShapeError>();
      gone[static_cast<std::size_t>(p < 0 ? p + n : p)] = true;
    }
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < n; ++i)
      if (!gone[static_cast<std::size_t>(i)]) kept.push_back(i);
    return take(v, astype(Array(kept), detail::index_dtype(n)), a);
  });
}
Array delete_(Operand x, std::int64_t position, std::optional<std::int64_t> axis) {
  return delete_(std::move(x), Positions{position}, axis);
}

Array rollaxis(Operand x, std::int64_t axis, std::int64_t start) {
  const InFunction called("rollaxis", x.loc);
  const int rank = detail::need(x.array, "rollaxis").type.shape.rank();
  const int from = normalize_axis(axis, rank, "rollaxis", x.loc);
  const int to = start == rank ? rank : normalize_axis(start, rank, "rollaxis", x.loc);
  return moveaxis(std::move(x), from, from < to ? to - 1 : to);
}

Array rot90(Operand x, std::int64_t k, std::pair<std::int64_t, std::int64_t> axes) {
  return composed1("rot90", {x.array}, x.loc, [&](In in) {
    detail::need_rank_at_least("rot90", in[0], 2, x.loc);
    const int a = normalize_axis(axes.first, rank_of(in[0]), "rot90", x.loc),
              b = normalize_axis(axes.second, rank_of(in[0]), "rot90", x.loc);
    if (a == b)
      Message("rot90")
          .problem("both axes are " + std::to_string(a))
          .rule("a turn is from one axis to another")
          .from(x.loc)
          .advice("rot90(x, 1, {0, 1}) turns the first to the second")
          .raise<ShapeError>();
    switch ((k % 4 + 4) % 4) {
      case 0: return in[0];
      case 1: return swapaxes(flip(in[0], b), a, b);
      case 2: return flip(flip(in[0], a), b);
      default: return flip(swapaxes(in[0], a, b), b);
    }
  });
}
Array fliplr(Operand x) {
  return composed1("fliplr", {x.array}, x.loc, [&](In in) {
    detail::need_rank_at_least("fliplr", in[0], 2, x.loc);
    return flip(in[0], 1);
  });
}
Array flipud(Operand x) {
  return composed1("flipud", {x.array}, x.loc, [&](In in) {
    detail::need_rank_at_least("flipud", in[0], 1, x.loc);
    return flip(in[0], 0);
  });
}

}  // namespace tessera::inline v0
