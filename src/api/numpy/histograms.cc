#include "api/numpy/array_helpers.h"

#include "api/numpy/indexing.h"
#include "api/numpy/mask_positions.h"

#include <tessera/at.h>
#include <tessera/calculus.h>
#include <tessera/operators.h>
#include <tessera/ordering.h>
#include <tessera/statistics.h>

#include <algorithm>
#include <limits>

namespace tessera::inline v0 {

using detail::composed;
using detail::composed1;
using detail::element_of;

namespace {
using Arrays = std::vector<Array>;
using In = std::span<const Array>;

Arrays given(const Array& x, const HistogramOptions& o) {
  Arrays all{x};
  if (o.edges) all.push_back(*o.edges);
  if (o.weights) all.push_back(*o.weights);
  return all;
}

Array edges_of(const char* name, In in, const HistogramOptions& o, DType dtype,
               const SourceLoc& loc) {
  if (o.edges) {
    detail::need_rank(name, in[1], 1, loc);
    return astype(in[1], dtype);
  }
  if (o.bins < 1 || o.bins > std::numeric_limits<std::int32_t>::max())
    Message(name)
        .problem(std::to_string(o.bins) + " bins are asked for")
        .rule("there is at least one bin, and their numbers are int32")
        .from(loc)
        .advice("{.bins = 10} is usual")
        .raise<ShapeError>();
  const Array v = astype(in[0], dtype);
  Array low = o.range ? full({}, o.range->first, dtype) : v.size() ? min(v) : zeros({}, dtype);
  Array high = o.range ? full({}, o.range->second, dtype) : v.size() ? max(v) : ones({}, dtype);
  const Array point = equal(low, high);
  low = where(point, subtract(low, 0.5), low);
  high = where(point, add(high, 0.5), high);
  const Array part = divide(astype(arange(o.bins), dtype), static_cast<double>(o.bins));
  const Array inner = add(multiply(low, subtract(1, part)), multiply(high, part));
  return concatenate({inner, expand_dims(high, 0)});
}
}  // namespace

Histogram histogram(Operand x, const HistogramOptions& o) {
  const Arrays r = composed("histogram", given(x.array, o), x.loc, [&](In in) {
    detail::need_real("histogram", in[0], x.loc);
    Array v = detail::in_floats(array(in[0])), w = ones_like(v);
    if (o.weights) {
      if (in.back().shape() != v.shape())
        Message("histogram")
            .problem("weights of shape " + to_string(in.back().shape()) +
                     " for an array of shape " + to_string(v.shape()))
            .rule("each element has a weight: the shapes are equal")
            .from(x.loc)
            .advice("broadcast_to gives the weights the array's shape")
            .raise<ShapeError>();
      std::tie(v, w) = detail::both_in_floats(v, in.back());
    }
    const Array edges = edges_of("histogram", in, o, v.dtype(), x.loc);
    const std::int64_t n = edges.size();
    const Array found = searchsorted(edges, v, {.side = "right"});
    const Array bin = where(equal(v, element_of(edges, 0, -1)), n - 1, found);
    // Bin 0 collects values below the first edge, and is dropped.
    const Array all =
        At(zeros({n + 1}, w.dtype()), {AxisIndex(ravel(where(isnan(v), n, bin)))}).add(ravel(w));
    Array counts = detail::part_of(all, 0, 1, n);
    if (o.density) counts = divide(divide(counts, diff(edges)), sum(counts));
    return Arrays{counts, edges};
  });
  return {r[0], r[1]};
}
Array histogram_bin_edges(Operand x, const HistogramOptions& o) {
  return composed1("histogram_bin_edges", given(x.array, o), x.loc, [&](In in) {
    detail::need_real("histogram_bin_edges", in[0], x.loc);
    const Array v = detail::in_floats(array(in[0]));
    return edges_of("histogram_bin_edges", in, o, v.dtype(), x.loc);
  });
}

Array bincount(Operand x, const BincountOptions& o) {
  const InFunction called("bincount", x.loc);
  detail::need(x.array, "bincount", x.loc);
  detail::need_rank("bincount", x.array, 1, x.loc);
  detail::need_integer("bincount", x.array, x.loc);
  const std::int64_t most = detail::result_size(
      "bincount", {&x.array, 1}, o.length, x.loc,
      [&] { return x.array.size() == 0 ? Array(0) : add(astype(max(x.array), DType::int64), 1); },
      "length");
  const std::int64_t n = o.length ? most : std::max<std::int64_t>({most, o.minlength, 0});
  Arrays all{x.array};
  if (o.weights) all.push_back(*o.weights);
  return composed1("bincount", all, x.loc, [&](In in) {
    const Array w = o.weights ? in[1] : ones(in[0].shape(), detail::index_dtype(in[0].size()));
    if (n == 0) return zeros({0}, w.dtype());
    const Array v = in[0].dtype() == DType::boolean ? astype(in[0], DType::int32) : in[0];
    const Array place = where(less(v, n), maximum(v, 0), n);
    return detail::part_of(At(zeros({n + 1}, w.dtype()), {AxisIndex(place)}).add(w), 0, 0, n);
  });
}

}  // namespace tessera::inline v0
