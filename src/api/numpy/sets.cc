#include <tessera/sets.h>

#include "api/numpy/indexing.h"
#include "api/numpy/mask_positions.h"

#include <tessera/at.h>
#include <tessera/control_flow.h>
#include <tessera/operators.h>
#include <tessera/ordering.h>

namespace tessera::inline v0 {

using detail::composed;
using detail::composed1;
using detail::element_of;
using detail::extent_of;
using detail::part_of;

namespace {
using Arrays = std::vector<Array>;
using In = std::span<const Array>;

// The slices of x as rows of a matrix, sorted.
struct Rows {
  Array sorted, order, first;  // whether a row is the first of its value
};
Array as_rows(const Array& x, const std::optional<std::int64_t>& axis) {
  if (!axis) return x.reshape(Shape{x.size(), 1});
  const Array front = moveaxis(x, *axis, 0);
  const std::int64_t n = extent_of(front, 0);
  return front.reshape(Shape{n, n == 0 ? 0 : x.size() / n});
}
Array order_of(const Array& rows) {
  const std::int64_t n = extent_of(rows, 0), k = extent_of(rows, 1);
  if (k == 1) return argsort(ravel(rows));
  // Sort by the last column first: each sort is stable.
  return fori_loop(
      0, k,
      [&](Array i, Array order) {
        const Array column = take(rows, subtract(k - 1, i), 1);
        return take(order, argsort(take(column, order)));
      },
      arange(n, detail::index_dtype(n)));
}
Rows sorted_rows(const Array& rows, bool equal_nan) {
  const std::int64_t n = extent_of(rows, 0);
  const Array order = order_of(rows), sorted = take(rows, order, 0);
  if (n == 0) return {sorted, order, zeros({0}, DType::boolean)};
  const Array a = part_of(sorted, 0, 1, n), b = part_of(sorted, 0, 0, n - 1);
  Array differ = not_equal(a, b);
  if (equal_nan && is_inexact(rows.dtype())) differ = differ & !(isnan(a) & isnan(b));
  return {sorted, order, concatenate({ones({1}, DType::boolean), any(differ, 1)})};
}

Array restored(const Array& rows, const Array& x, const std::optional<std::int64_t>& axis) {
  if (!axis) return ravel(rows);
  Shape s = moveaxis(x, *axis, 0).shape();
  s[0] = extent_of(rows, 0);
  return moveaxis(rows.reshape(s), 0, *axis);
}

std::int64_t count_unique(const char* name, const Operand& x, const UniqueOptions& o) {
  return detail::result_size(name, {&x.array, 1}, o.size, x.loc, [&] {
    return composed1(name, {x.array}, x.loc, [&](In in) {
      return count_nonzero(sorted_rows(as_rows(in[0], o.axis), o.equal_nan).first);
    });
  });
}
Arrays filled_up(Arrays all, const std::optional<Array>& fill) {
  if (fill) all.push_back(*fill);
  return all;
}

UniqueAll nothing(const Array& x, const UniqueOptions& o, std::int64_t size, const Array& fill) {
  Shape s{size};
  if (o.axis) s = moveaxis(x, *o.axis, 0).shape(), s[0] = size;
  const Array none = zeros({size}, DType::int32);
  const Array values = broadcast_to(astype(fill, x.dtype()), s);
  return {o.axis ? moveaxis(values, 0, *o.axis) : values, none,
          zeros(o.axis ? Shape{0} : x.shape(), DType::int32), none};
}

UniqueAll unique_of(const Array& x, const UniqueOptions& o, std::int64_t size, const Array* fill) {
  const Array rows = as_rows(x, o.axis);
  const std::int64_t n = extent_of(rows, 0);
  if (n == 0) return nothing(x, o, size, fill ? *fill : Array(0));
  const Rows r = sorted_rows(rows, o.equal_nan);
  const detail::MaskPositions c = detail::mask_positions(r.first, size);
  const Array values = detail::filled(take(r.sorted, c.positions, 0), c.valid,
                                      fill ? *fill : element_of(r.sorted, 0, 0));
  const DType places = c.positions.dtype();
  const Array group = subtract(cumsum(astype(r.first, places), 0), 1);
  const Array inverse = At(zeros({n}, places), {AxisIndex(r.order)}).set(group);
  const Array ends = concatenate({part_of(c.positions, 0, 1, size), zeros({1}, places)});
  const Array next = concatenate({part_of(c.valid, 0, 1, size), zeros({1}, DType::boolean)});
  const Array kinds = count_nonzero(r.first);
  // The last value's run ends with the array, unless further values were cut off.
  const Array end = where(next, ends, n);
  Array counts = where(c.valid, subtract(end, c.positions), 0);
  if (size > 0) {
    const Array all = At(zeros({size}, places), {AxisIndex(group)}).add(1);
    counts = where(greater(kinds, size), all, counts);
  }
  return {restored(values, x, o.axis), take(r.order, c.positions),
          o.axis ? inverse : inverse.reshape(x.shape()), astype(counts, places)};
}

}  // namespace

UniqueAll unique_all(Operand x, const UniqueOptions& o) {
  const std::int64_t size = count_unique("unique_all", x, o);
  const Arrays r = composed("unique_all", filled_up({x.array}, o.fill_value), x.loc, [&](In in) {
    const UniqueAll u = unique_of(in[0], o, size, in.size() > 1 ? &in[1] : nullptr);
    return Arrays{u.values, u.indices, u.inverse_indices, u.counts};
  });
  return {r[0], r[1], r[2], r[3]};
}
Array unique(Operand x, const UniqueOptions& o) {
  const std::int64_t size = count_unique("unique", x, o);
  return composed1("unique", filled_up({x.array}, o.fill_value), x.loc, [&](In in) {
    return unique_of(in[0], o, size, in.size() > 1 ? &in[1] : nullptr).values;
  });
}

namespace {
// Both arrays, flattened and in one dtype.
std::pair<Array, Array> flat_pair(const Array& x, const Array& y) {
  const Arrays both = detail::promoted({x, y});
  return {ravel(array(both[0])), ravel(array(both[1]))};
}
Array is_among(const Array& x, const Array& test) {
  if (test.size() == 0 || x.size() == 0) return zeros(x.shape(), DType::boolean);
  const Array sorted = sort(test);
  const Array at = minimum(searchsorted(sorted, x), test.size() - 1);
  return equal(take(sorted, at), x);
}

enum class SetOf { both, either, first_alone, one_alone };
// The candidate values in ascending order, and which of them belong to the result.
Rows candidates(SetOf what, const Array& x, const Array& y) {
  auto [a, b] = flat_pair(x, y);
  const bool joined = what == SetOf::either || what == SetOf::one_alone;
  Rows r = sorted_rows(as_rows(joined ? concatenate({a, b}) : a, {}), true);
  r.sorted = ravel(r.sorted);
  if (what == SetOf::both) r.first = r.first & is_among(r.sorted, b);
  if (what == SetOf::first_alone) r.first = r.first & !is_among(r.sorted, b);
  if (what == SetOf::one_alone)
    r.first = r.first & not_equal(is_among(r.sorted, a), is_among(r.sorted, b));
  return r;
}
Array set_of(const char* name, SetOf what, const Operand& x, const Operand& y,
             const SizeOptions& o) {
  const Array both[] = {x.array, y.array};
  const std::int64_t size = detail::result_size(name, both, o.size, x.loc, [&] {
    return composed1(name, both, x.loc,
                     [&](In in) { return count_nonzero(candidates(what, in[0], in[1]).first); });
  });
  return composed1(name, filled_up({x.array, y.array}, o.fill_value), x.loc, [&](In in) {
    const Rows r = candidates(what, in[0], in[1]);
    const bool own = in.size() > 2 || what == SetOf::first_alone || r.sorted.size() == 0;
    const Array fill = in.size() > 2 ? in[2] : Array(0);
    if (r.sorted.size() == 0) return broadcast_to(astype(fill, r.sorted.dtype()), {size});
    const detail::MaskPositions c = detail::mask_positions(r.first, size);
    const Array values = take(r.sorted, c.positions);
    return detail::filled(values, c.valid, own || size == 0 ? fill : element_of(values, 0, 0));
  });
}
}  // namespace

Array isin(Operand x, Operand test, bool invert) {
  return composed1("isin", {x.array, test.array}, x.loc, [&](In in) {
    auto [a, b] = flat_pair(in[0], in[1]);
    const Array r = is_among(a, b).reshape(in[0].shape());
    return invert ? !r : r;
  });
}
Array intersect1d(Operand x, Operand y, const SizeOptions& o) {
  return set_of("intersect1d", SetOf::both, x, y, o);
}
Array union1d(Operand x, Operand y, const SizeOptions& o) {
  return set_of("union1d", SetOf::either, x, y, o);
}
Array setdiff1d(Operand x, Operand y, const SizeOptions& o) {
  return set_of("setdiff1d", SetOf::first_alone, x, y, o);
}
Array setxor1d(Operand x, Operand y, const SizeOptions& o) {
  return set_of("setxor1d", SetOf::one_alone, x, y, o);
}

}  // namespace tessera::inline v0
