#include "api/numpy/array_helpers.h"

#include "api/numpy/indexing.h"

#include <tessera/constants.h>

#include <tessera/operators.h>
#include <tessera/statistics.h>

#include <algorithm>

namespace tessera::inline v0 {

using detail::composed1;
using detail::rank_of;

namespace {
using In = std::span<const Array>;
using AxisNumbers = std::vector<std::int64_t>;

// x with the reduced axes merged into a last one, and the shapes of the result.
struct Gathered {
  Array rows;
  Shape kept, shown;
};
Gathered gathered(const char* name, const Array& x, const AxisList& axis, bool keepdims,
                  const SourceLoc& loc) {
  AxisNumbers over;
  for (std::int64_t a : axis.get()) over.push_back(normalize_axis(a, rank_of(x), name, loc));
  Gathered g;
  AxisNumbers order;
  std::int64_t n = 1;
  for (int a = 0; a < rank_of(x); ++a) {
    const bool gone = over.empty() || std::find(over.begin(), over.end(), a) != over.end();
    const std::int64_t extent = detail::extent_of(x, a);
    if (gone)
      n *= extent;
    else
      order.push_back(a), g.kept.push_back(extent);
    if (!gone || keepdims) g.shown.push_back(gone ? 1 : extent);
  }
  for (int a = 0; a < rank_of(x); ++a)
    if (std::find(order.begin(), order.end(), a) == order.end()) order.push_back(a);
  if (n == 0)
    Message(name)
        .problem("an array of shape " + to_string(x.shape()) +
                 " has no elements along the reduced axes")
        .rule("the quantile of nothing does not exist")
        .from(loc)
        .advice("check the size first, or reduce over other axes")
        .raise<ShapeError>();
  Shape s = g.kept;
  s.push_back(n);
  g.rows = (order.empty() ? x : transpose(x, order)).reshape(s);
  return g;
}

void check_method(const char* name, const std::string& method, const SourceLoc& loc) {
  for (const char* known : {"linear", "lower", "higher", "midpoint", "nearest"})
    if (method == known) return;
  Message(name)
      .problem("the method is \"" + method + "\"")
      .rule("it is \"linear\", \"lower\", \"higher\", \"midpoint\" or \"nearest\"")
      .from(loc)
      .advice("\"linear\" is usual")
      .raise<Error>();
}

Array between(const Array& low, const Array& high, const Array& weight, const std::string& method) {
  if (method == "lower") return low;
  if (method == "higher") return high;
  if (method == "midpoint") return multiply(add(low, high), 0.5);
  if (method == "nearest") return where(less_equal(weight, 0.5), low, high);
  const Array w = astype(weight, low.dtype());
  // With weight 0, skip the upper element: 0 times infinity would be NaN.
  const Array none = logical_and(equal(w, 0), isinf(high));
  return add(multiply(low, subtract(1, w)), where(none, 0.0, multiply(high, w)));
}

Array quantile_of(const char* name, const Operand& x, const Operand& part, double of,
                  const QuantileOptions& o, bool skip) {
  check_method(name, o.method, x.loc);
  return composed1(name, {x.array, part.array}, x.loc, [&](In in) {
    detail::need_real(name, in[0], x.loc);
    if (rank_of(in[1]) > 1) detail::need_rank(name, in[1], 1, x.loc);
    const Array v = detail::in_floats(in[0]);
    const Array share = of == 1 ? in[1] : divide(in[1], of);
    // A bare number gets the dtype of the array if that is float64, to match its positions.
    const bool wide = share.weak_type() && v.dtype() == DType::float64;
    const Array q = wide ? astype(share, DType::float64) : detail::in_floats(array(share));
    const Gathered g = gathered(name, v, o.axis, o.keepdims, x.loc);
    const Array missing = isnan(g.rows);
    const Array sorted = sort(where(missing, v0::nan, g.rows), -1);
    // The number of elements less one; one column per row, which broadcasts against the positions
    // of q.
    const Array last =
        expand_dims(subtract(astype(sum(logical_not(missing), -1), q.dtype()), 1), -1);
    const Array usual = astype(array(g.rows.shape().back() - 1), q.dtype());
    const Array bound = skip ? last : broadcast_to(usual, last.shape());
    const Array at = multiply(ravel(q), bound);
    const auto place = [&](const Array& p) {
      return astype(clip(p, 0, maximum(bound, 0)), detail::index_dtype(g.rows.shape().back()));
    };
    const Array below = floor(at), low = take_along_axis(sorted, place(below), -1);
    const Array high = take_along_axis(sorted, place(ceil(at)), -1);
    Array r = between(low, high, subtract(at, below), o.method);
    if (!skip) r = where(expand_dims(any(missing, -1), -1), v0::nan, r);
    Shape shape = q.shape();
    for (std::int64_t n : g.shown) shape.push_back(n);
    return astype(moveaxis(r, -1, 0), v.dtype()).reshape(shape);
  });
}
QuantileOptions middle(const OverOptions& o) {
  return {.axis = o.axis, .method = "midpoint", .keepdims = o.keepdims};
}
}  // namespace

Array quantile(Operand x, Operand q, const QuantileOptions& o) {
  return quantile_of("quantile", x, q, 1, o, false);
}
Array nanquantile(Operand x, Operand q, const QuantileOptions& o) {
  return quantile_of("nanquantile", x, q, 1, o, true);
}
Array percentile(Operand x, Operand q, const QuantileOptions& o) {
  return quantile_of("percentile", x, q, 100, o, false);
}
Array nanpercentile(Operand x, Operand q, const QuantileOptions& o) {
  return quantile_of("nanpercentile", x, q, 100, o, true);
}
Array median(Operand x, const OverOptions& o) {
  return quantile_of("median", x, Operand(0.5, x.loc), 1, middle(o), false);
}
Array nanmedian(Operand x, const OverOptions& o) {
  return quantile_of("nanmedian", x, Operand(0.5, x.loc), 1, middle(o), true);
}

}  // namespace tessera::inline v0
