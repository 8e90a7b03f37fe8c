#include <tessera/ordering.h>

#include "api/numpy/array_helpers.h"
#include "api/numpy/indexing.h"
#include "api/trace/composite.h"

#include <tessera/control_flow.h>
#include <tessera/operators.h>

#include <algorithm>
#include <bit>

namespace tessera::inline v0 {

using detail::composed;
using detail::composed1;

namespace {
using In = std::span<const Array>;
struct Between {
  Array low, high;
};
// a < b, where NaN is greater than all numbers.
Array before(const Array& a, const Array& b) {
  if (!is_floating(a.dtype())) return less(a, b);
  return less(a, b) | (isnan(b) & !isnan(a));
}

// Binary search for all values at once; the program's size does not depend on the array's length.
Array search(const Array& x, const Array& values, bool right) {
  const std::int64_t n = x.size();
  const Shape& shape = values.shape();
  const DType positions = detail::index_dtype(n);
  if (n == 0 || values.size() == 0) return zeros(shape, positions);
  // This dtype holds the sum of two positions, which is halved.
  const DType sums = detail::index_dtype(2 * n);
  const Between r = fori_loop(
      0, std::bit_width(static_cast<std::uint64_t>(n)),
      [&](Array, const Between& b) {
        const Array middle = (b.low + b.high) >> 1;
        const Array m = take(x, minimum(middle, n - 1));
        const Array open = less(b.low, b.high);
        const Array up = open & (right ? !before(values, m) : before(m, values));
        return Between{where(up, middle + 1, b.low), where(open & !up, middle, b.high)};
      },
      Between{zeros(shape, sums), full(shape, n, sums)});
  return astype(r.low, positions);
}
}  // namespace

Array searchsorted(Operand x, Operand values, const SearchOptions& o) {
  if (o.side != "left" && o.side != "right")
    Message("searchsorted")
        .problem("the side is \"" + o.side + "\"")
        .rule("it is \"left\", in front of equal elements, or \"right\", behind them")
        .from(x.loc)
        .advice("{.side = \"right\"}")
        .raise<Error>();
  std::vector<Array> all{x.array, values.array};
  if (o.sorter) all.push_back(*o.sorter);
  return composed1("searchsorted", all, x.loc, [&](In in) {
    detail::need_rank("searchsorted", in[0], 1, x.loc);
    detail::need_real("searchsorted", in[0], x.loc);
    detail::need_real("searchsorted", in[1], x.loc);
    const std::vector<Array> both = detail::promoted({in[0], in[1]});
    return search(o.sorter ? take(both[0], in[2]) : both[0], array(both[1]), o.side == "right");
  });
}

Array digitize(Operand x, Operand bins, bool right) {
  return composed1("digitize", {x.array, bins.array}, x.loc, [&](In in) {
    detail::need_rank("digitize", in[1], 1, x.loc);
    const std::int64_t n = in[1].size();
    if (n == 0) return zeros(in[0].shape(), detail::index_dtype(n));
    const SearchOptions o{.side = right ? "left" : "right"};
    const Array up = searchsorted(in[1], in[0], o);
    const Array down = subtract(n, searchsorted(flip(in[1], 0), in[0], o));
    const auto end = [&](std::int64_t i) { return detail::element_of(in[1], 0, i); };
    return where(greater_equal(end(-1), end(0)), up, astype(down, up.dtype()));
  });
}

Array lexsort(const std::vector<Array>& keys, std::int64_t axis, std::source_location loc) {
  detail::need_some("lexsort", keys, loc);
  return detail::composite1("lexsort", keys, loc, [&](Builder& b, std::span<const Value> in) {
    Values all(in.rbegin(), in.rend());
    for (const Value& v : all)
      if (v.shape() != all[0].shape())
        Message("lexsort")
            .problem("keys of shapes " + to_string(all[0].shape()) + " and " + to_string(v.shape()))
            .rule("all keys have one shape")
            .from(loc)
            .advice("broadcast_arrays makes it so")
            .raise<ShapeError>();
    const int a = normalize_axis(axis, all[0].rank(), "lexsort", loc);
    all.push_back(ops::iota(b, detail::index_dtype(all[0].shape()[static_cast<std::size_t>(a)]),
                            all[0].shape(), a));
    return ops::sort(all, a, static_cast<int>(keys.size())).back();
  });
}

namespace {
void check_kth(const char* name, const Operand& x, std::int64_t kth, std::int64_t axis) {
  const InFunction called(name, x.loc);
  const Shape& s = detail::need(x.array, name, x.loc).type.shape;
  const int a = normalize_axis(axis, s.rank(), name, x.loc);
  const std::int64_t n = s[static_cast<std::size_t>(a)];
  if (kth >= -n && kth < n) return;
  Message(name)
      .problem("position " + std::to_string(kth) + " along axis " + std::to_string(a) +
               " of shape " + to_string(s))
      .rule("it is from " + std::to_string(-n) + " to " + std::to_string(n - 1))
      .from(x.loc)
      .advice("the last is -1")
      .raise<ShapeError>();
}
}  // namespace

Array partition(Operand x, std::int64_t kth, std::int64_t axis) {
  check_kth("partition", x, kth, axis);
  const InFunction called("partition", x.loc);
  return sort(std::move(x), axis);
}
Array argpartition(Operand x, std::int64_t kth, std::int64_t axis) {
  check_kth("argpartition", x, kth, axis);
  const InFunction called("argpartition", x.loc);
  return argsort(std::move(x), axis);
}

SortedPairs sort_key_val(Operand keys, Operand values, std::int64_t dimension) {
  const Array both[] = {keys.array, values.array};
  const std::vector<Array> r =
      detail::composite("sort_key_val", both, keys.loc, [&](Builder&, std::span<const Value> in) {
        if (in[0].shape() != in[1].shape())
          Message("sort_key_val")
              .problem("keys of shape " + to_string(in[0].shape()) + " and values of shape " +
                       to_string(in[1].shape()))
              .rule("each key has a value: the shapes are equal")
              .from(keys.loc)
              .advice("broadcast_arrays makes them so")
              .raise<ShapeError>();
        return ops::sort(in, normalize_axis(dimension, in[0].rank(), "sort_key_val", keys.loc));
      });
  return {r[0], r[1]};
}

ExtremeK approx_max_k(Operand x, std::int64_t k, std::int64_t axis) {
  const std::vector<Array> r = composed("approx_max_k", {x.array}, x.loc, [&](In in) {
    const TopK t = top_k(moveaxis(in[0], axis, -1), k);
    return std::vector<Array>{moveaxis(t.values, -1, axis), moveaxis(t.indices, -1, axis)};
  });
  return {r[0], r[1]};
}
ExtremeK approx_min_k(Operand x, std::int64_t k, std::int64_t axis) {
  const std::vector<Array> r = composed("approx_min_k", {x.array}, x.loc, [&](In in) {
    // For integers, ~v reverses the order without overflow.
    const auto reversed = [](const Array& v) {
      return is_inexact(v.dtype()) ? negative(v) : bitwise_not(v);
    };
    const TopK t = top_k(reversed(moveaxis(in[0], axis, -1)), k);
    return std::vector<Array>{reversed(moveaxis(t.values, -1, axis)),
                              moveaxis(t.indices, -1, axis)};
  });
  return {r[0], r[1]};
}

}  // namespace tessera::inline v0
