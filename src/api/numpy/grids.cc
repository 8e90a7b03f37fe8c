#include <tessera/grids.h>

#include "api/numpy/array_helpers.h"
#include "api/numpy/indexing.h"

#include <tessera/at.h>
#include <tessera/operators.h>

#include <algorithm>
#include <cmath>

namespace tessera::inline v0 {

using detail::along;
using detail::composed;
using detail::composed1;
using detail::rank_of;

namespace {
using Arrays = std::vector<Array>;
using In = std::span<const Array>;
}  // namespace

Arrays meshgrid(const Arrays& xs, const MeshgridOptions& o, std::source_location loc) {
  if (o.indexing != "xy" && o.indexing != "ij")
    Message("meshgrid")
        .problem("the indexing is \"" + o.indexing + "\"")
        .rule(
            "it is \"xy\", the first coordinate along the second axis, or \"ij\", along the first")
        .from(loc)
        .advice("{.indexing = \"ij\"} is that of matrices")
        .raise<Error>();
  return composed("meshgrid", xs, loc, [&](In in) {
    const int rank = static_cast<int>(in.size());
    Shape whole;
    Arrays out;
    for (int i = 0; i < rank; ++i) {
      const Array& x = in[static_cast<std::size_t>(i)];
      if (rank_of(x) > 1) detail::need_rank("meshgrid", x, 1, loc);
      const int axis = o.indexing == "xy" && rank > 1 && i < 2 ? 1 - i : i;
      out.push_back(along(x, axis, rank));
    }
    if (o.sparse) return out;
    for (const Array& x : out) whole = broadcast_shapes(whole, x.shape(), "meshgrid", loc);
    for (Array& x : out) x = broadcast_to(x, whole);
    return out;
  });
}

Arrays ix_(const Arrays& xs, std::source_location loc) {
  return composed("ix_", xs, loc, [&](In in) {
    Arrays out;
    for (std::size_t i = 0; i < in.size(); ++i) {
      detail::need_rank("ix_", in[i], 1, loc);
      if (!is_integer(in[i].dtype()))
        Message("ix_")
            .problem("an operand has dtype " + std::string(name_of(in[i].dtype())))
            .rule("positions are integers; how many of a mask are true is a matter of its values")
            .from(loc)
            .advice("flatnonzero gives the positions of a mask")
            .raise<DTypeError>();
      out.push_back(along(in[i], static_cast<int>(i), static_cast<int>(in.size())));
    }
    return out;
  });
}

Array indices(const Shape& shape, DType dtype, std::source_location loc) {
  return composed1("indices", Arrays{}, loc, [&](In) {
    Arrays each;
    for (int i = 0; i < shape.rank(); ++i)
      each.push_back(broadcast_to(
          along(arange(shape[static_cast<std::size_t>(i)], dtype), i, shape.rank()), shape));
    return each.empty() ? zeros({0}, dtype) : stack(each);
  });
}

Array logspace(double start, double stop, std::int64_t num, bool endpoint, double base, DType dtype,
               std::source_location loc) {
  const InFunction called("logspace", loc);
  return composed1("logspace", Arrays{}, loc, [&](In) {
    return astype(power(base, linspace(start, stop, num, endpoint, DType::float64)), dtype);
  });
}
Array geomspace(double start, double stop, std::int64_t num, bool endpoint, DType dtype,
                std::source_location loc) {
  if (!(start * stop > 0) && !(start / stop > 0))
    Message("geomspace")
        .problem("from " + to_string(Array(start)) + " to " + to_string(Array(stop)))
        .rule("both are positive or both negative: no factor leads over zero")
        .from(loc)
        .advice("linspace has the same difference everywhere")
        .raise<Error>();
  return composed1("geomspace", Arrays{}, loc, [&](In) {
    const Array part = linspace(0, 1, num, endpoint, DType::float64);
    const double from = std::log2(std::abs(start)), over = std::log2(std::abs(stop)) - from;
    const Array size = exp2(add(multiply(part, over), from));
    const double s = start < 0 ? -1 : 1;
    const Array inside = where(equal(part, 0), start, multiply(size, s));
    return astype(where(equal(part, 1), stop, inside), dtype);
  });
}

Array identity(std::int64_t n, DType dtype, std::source_location loc) {
  const InFunction called("identity", loc);
  return eye(n, {}, 0, dtype, loc);
}
Array tri(std::int64_t n, std::optional<std::int64_t> m, std::int64_t k, DType dtype,
          std::source_location loc) {
  return composed1("tri", Arrays{}, loc, [&](In) {
    return tril(ones({n, m.value_or(n)}, dtype), k);
  });
}

namespace {
// Lists row and column indices in row-major order; `columns` returns the half-open range of columns
// of a row.
template <class Number, class F>
std::array<Array, 2> numbered(std::int64_t n, F columns) {
  std::vector<Number> row, column;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto [first, last] = columns(i);
    for (std::int64_t j = first; j < last; ++j) {
      row.push_back(static_cast<Number>(i));
      column.push_back(static_cast<Number>(j));
    }
  }
  return {Array(row), Array(column)};
}
template <class F>
std::array<Array, 2> places(std::int64_t n, std::int64_t width, F columns) {
  return detail::index_dtype(std::max(n, width)) == DType::int32
             ? numbered<std::int32_t>(n, columns)
             : numbered<std::int64_t>(n, columns);
}
using Endpoints = std::pair<std::int64_t, std::int64_t>;
// Limits the size of the matrix, because its indices are listed one by one.
void need_small(const char* name, std::int64_t n, std::int64_t width, const SourceLoc& loc) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  std::int64_t size = 0;
  if (n <= 0 || width <= 0 || (!__builtin_mul_overflow(n, width, &size) && size <= kMost)) return;
  Message(name)
      .problem("a matrix of " + std::to_string(n) + " x " + std::to_string(width))
      .rule("it has at most 2^32 elements")
      .from(loc)
      .advice("tri(n) is a mask of them, and tril(x) and triu(x) take no indices")
      .raise<ShapeError>();
}
}  // namespace

std::array<Array, 2> tril_indices(std::int64_t n, std::int64_t k, std::optional<std::int64_t> m,
                                  std::source_location loc) {
  const InFunction called("tril_indices", loc);
  const std::int64_t w = m.value_or(n);
  need_small("tril_indices", n, w, loc);
  const std::int64_t shift = n > 0 && w > 0 ? std::clamp(k, -n - 1, w + 1) : 0;
  return places(n, w, [&](std::int64_t i) {
    return Endpoints{0, std::clamp<std::int64_t>(i + shift + 1, 0, w)};
  });
}
std::array<Array, 2> triu_indices(std::int64_t n, std::int64_t k, std::optional<std::int64_t> m,
                                  std::source_location loc) {
  const InFunction called("triu_indices", loc);
  const std::int64_t w = m.value_or(n);
  need_small("triu_indices", n, w, loc);
  const std::int64_t shift = n > 0 && w > 0 ? std::clamp(k, -n - 1, w + 1) : 0;
  return places(n, w, [&](std::int64_t i) {
    return Endpoints{std::clamp<std::int64_t>(i + shift, 0, w), w};
  });
}

Array vander(Operand x, std::optional<std::int64_t> n, bool increasing) {
  return composed1("vander", {x.array}, x.loc, [&](In in) {
    detail::need_rank("vander", in[0], 1, x.loc);
    const std::int64_t columns = n.value_or(in[0].size());
    Array exponent = arange(columns);
    if (!increasing) exponent = flip(exponent, 0);
    const Array base = in[0].dtype() == DType::boolean ? astype(in[0], DType::int32) : in[0];
    return power(expand_dims(base, 1), astype(exponent, base.dtype()));
  });
}

Array diagonal(Operand x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  return composed1("diagonal", {x.array}, x.loc, [&](In in) {
    detail::need_rank_at_least("diagonal", in[0], 2, x.loc);
    const int rank = rank_of(in[0]);
    const int a = normalize_axis(axis1, rank, "diagonal", x.loc),
              b = normalize_axis(axis2, rank, "diagonal", x.loc);
    if (a == b)
      Message("diagonal")
          .problem("both axes are " + std::to_string(a))
          .rule("a diagonal lies between two axes")
          .from(x.loc)
          .advice("diagonal(x, 0, 0, 1) is that of the first two")
          .raise<ShapeError>();
    std::vector<std::int64_t> order;
    for (int i = 0; i < rank; ++i)
      if (i != a && i != b) order.push_back(i);
    order.push_back(a);
    order.push_back(b);
    const Array v = transpose(in[0], order);
    const std::int64_t n = detail::extent_of(v, rank - 2), m = detail::extent_of(v, rank - 1);
    Shape outer(std::vector<std::int64_t>(v.shape().begin(), v.shape().end() - 2));
    const std::int64_t row = offset < 0 ? std::min(n, -std::max(offset, -n)) : 0;
    const std::int64_t column = offset > 0 ? std::min(m, offset) : 0;
    const std::int64_t count = std::min(n - row, m - column);
    outer.push_back(n * m);
    const Array flat = v.reshape(outer);
    if (count <= 0) return detail::part_of(flat, rank - 2, 0, 0);
    // In row-major order, consecutive elements of a diagonal are m + 1 apart.
    const std::int64_t start = row * m + column;
    return detail::part_of(flat, rank - 2, start, start + (count - 1) * (m + 1) + 1, m + 1);
  });
}

Array diagflat(Operand x, std::int64_t k) {
  return composed1("diagflat", {x.array}, x.loc, [&](In in) {
    const std::int64_t n = in[0].size(), side = n + std::abs(k);
    if (n == 0) return zeros({side, side}, in[0].dtype());
    // Append `side` zeros to each element: consecutive elements of a diagonal are `side` + 1 apart.
    const Array apart = pad(in[0].reshape(Shape{n, 1}), {{0, 0}, {0, side}}).reshape(Shape{-1});
    const std::int64_t start = k >= 0 ? k : -k * side, end = start + n * (side + 1);
    const std::int64_t past = std::max<std::int64_t>(end - side * side, 0);
    const Array kept = detail::part_of(apart, 0, 0, n * (side + 1) - past);
    return pad(kept, {{start, side * side - (end - past)}}).reshape(Shape{side, side});
  });
}

Array fill_diagonal(Operand x, Operand value) {
  return composed1("fill_diagonal", {x.array, value.array}, x.loc, [&](In in) {
    detail::need_rank_at_least("fill_diagonal", in[0], 2, x.loc);
    const Shape& s = in[0].shape();
    const std::int64_t n = *std::min_element(s.begin(), s.end());
    if (s.rank() > 2 && *std::max_element(s.begin(), s.end()) != n)
      Message("fill_diagonal")
          .problem("the array has shape " + to_string(s))
          .rule("the extents of an array of more than two axes are equal")
          .from(x.loc)
          .advice("vmap(fill_diagonal) fills that of each matrix")
          .raise<ShapeError>();
    const std::vector<AxisIndex> on(static_cast<std::size_t>(s.rank()), AxisIndex(arange(n)));
    return At(in[0], on).set(in[1]);
  });
}

}  // namespace tessera::inline v0
