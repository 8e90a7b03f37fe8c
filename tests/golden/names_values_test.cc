#include "golden/names.h"

#include <tessera/calculus.h>
#include <tessera/interpolation.h>
#include <tessera/polynomial.h>
#include <tessera/products.h>
#include <tessera/signal.h>
#include <tessera/statistics.h>

namespace golden {

namespace ts = tessera;

namespace {
using In = const Arrays&;
using Args = const Arguments&;
Arrays both(const ts::Histogram& h) { return {h.counts, h.edges}; }
ts::HistogramOptions histogram_options(Args a) {
  ts::HistogramOptions o{.bins = a.n(0), .density = a.flag(1)};
  if (a.words.size() > 2) o.range = std::pair(a.d(2), a.d(3));
  return o;
}
ts::CovOptions cov_options(In in, Args a) {
  ts::CovOptions o{.rowvar = a.flag(0)};
  if (in.size() > 1) o.y = in[1];
  if (a.n(1) >= 0) o.ddof = static_cast<int>(a.n(1));
  return o;
}
}  // namespace

void add_statistics(Table& t) {
#define OVER(name)                                                                          \
  t[#name] = {[](In in, Args a) {                                                           \
                return Arrays{ts::name(in[0], {.axis = a.axes(0), .keepdims = a.flag(1)})}; \
              },                                                                            \
              64}
  OVER(median), OVER(nanmedian), OVER(ptp), OVER(nansum), OVER(nanprod), OVER(nanmax);
  OVER(nanmin), OVER(nanmean), OVER(nanstd), OVER(nanvar);
#undef OVER
#define QUANTILE(name)                                                                            \
  t[#name] = {[](In in, Args a) {                                                                 \
                return Arrays{ts::name(                                                           \
                    in[0], in[1], {.axis = a.axes(0), .method = a.s(2), .keepdims = a.flag(1)})}; \
              },                                                                                  \
              32}
  QUANTILE(quantile), QUANTILE(nanquantile), QUANTILE(percentile), QUANTILE(nanpercentile);
#undef QUANTILE
  t["nanargmax"] = {[](In in, Args a) { return Arrays{ts::nanargmax(in[0], {.axis = a.n(0)})}; }};
  t["nanargmin"] = {[](In in, Args a) { return Arrays{ts::nanargmin(in[0], {.axis = a.n(0)})}; }};
  t["average"] = {[](In in, Args a) {
                    ts::AverageOptions o{.axis = a.axes(0), .keepdims = a.flag(1)};
                    if (in.size() > 1) o.weights = in[1];
                    return Arrays{ts::average(in[0], o)};
                  },
                  32};
  t["cov"] = {[](In in, Args a) { return Arrays{ts::cov(in[0], cov_options(in, a))}; }, 32};
  t["corrcoef"] = {[](In in, Args a) {
                     ts::CorrcoefOptions o{.rowvar = a.flag(0)};
                     if (in.size() > 1) o.y = in[1];
                     return Arrays{ts::corrcoef(in[0], o)};
                   },
                   32};
  t["histogram"] = {[](In in, Args a) { return both(ts::histogram(in[0], histogram_options(a))); }};
  t["histogram_edges"] = {[](In in, Args) { return both(ts::histogram(in[0], {.edges = in[1]})); }};
  t["histogram_weights"] = {[](In in, Args a) {
                              ts::HistogramOptions o = histogram_options(a);
                              o.weights = in[1];
                              return both(ts::histogram(in[0], o));
                            },
                            32};
  t["bincount"] = {[](In in, Args a) {
                     ts::BincountOptions o{.length = a.n(0)};
                     if (in.size() > 1) o.weights = in[1];
                     return Arrays{ts::bincount(in[0], o)};
                   },
                   32};
  t["bincount_all"] = {[](In in, Args) { return Arrays{ts::bincount(in[0])}; }, 0, false};

  t["diff"] = {[](In in, Args a) { return Arrays{ts::diff(in[0], {.n = a.n(0), .axis = a.n(1)})}; },
               32};
  t["diff_ends"] = {[](In in, Args) {
    return Arrays{ts::diff(in[0], {.axis = 0, .prepend = in[1], .append = in[2]})};
  }};
  t["ediff1d"] = {[](In in, Args) { return Arrays{ts::ediff1d(in[0])}; }};
  t["ediff1d_ends"] = {
      [](In in, Args) { return Arrays{ts::ediff1d(in[0], {.to_end = in[2], .to_begin = in[1]})}; }};
  t["gradient"] = {[](In in, Args a) {
    if (a.words.empty()) return ts::gradient(in[0]);
    return ts::gradient(in[0], {.axis = a.n(1), .spacing = {a.d(0)}});
  }};
  t["cumlogsumexp"] = {
      [](In in, Args a) { return Arrays{ts::cumlogsumexp(in[0], a.n(0), a.flag(1))}; }, 16};
  t["trapezoid"] = {
      [](In in, Args a) { return Arrays{ts::trapezoid(in[0], {.dx = a.d(0), .axis = a.n(1)})}; },
      16};
  t["trapezoid_at"] = {
      [](In in, Args a) { return Arrays{ts::trapezoid(in[0], {.x = in[1], .axis = a.n(0)})}; }, 64};
  t["map_coordinates"] = {
      [](In in, Args a) {
        const ts::MapCoordinatesOptions o{.order = a.n(0), .mode = a.s(1), .cval = 1.5};
        return Arrays{ts::map_coordinates(in[0], {in.begin() + 1, in.end()}, o)};
      },
      64};
  t["interp"] = {[](In in, Args) { return Arrays{ts::interp(in[0], in[1], in[2])}; }, 64};
  t["interp_ends"] = {
      [](In in, Args) {
        return Arrays{ts::interp(in[0], in[1], in[2], {.left = Array(-1), .right = Array(2.5)})};
      },
      64};
  t["interp_period"] = {
      [](In in, Args a) { return Arrays{ts::interp(in[0], in[1], in[2], {.period = a.d(0)})}; },
      256};
  t["unwrap"] = {
      [](In in, Args a) { return Arrays{ts::unwrap(in[0], {.axis = a.n(0), .period = a.d(1)})}; },
      32};
#define MODE(name) \
  t[#name] = {[](In in, Args a) { return Arrays{ts::name(in[0], in[1], a.s(0))}; }, 32}
  MODE(convolve), MODE(correlate), MODE(convolve2d);
#undef MODE
#define TWO(name, ulps) \
  t[#name] = {[](In in, Args) { return Arrays{ts::name(in[0], in[1])}; }, ulps}
  TWO(vdot, 32), TWO(kron, 8), TWO(batch_matmul, 32), TWO(polyval, 32), TWO(polyadd, 8);
  TWO(polysub, 8), TWO(polymul, 32);
#undef TWO
  t["vecdot"] = {[](In in, Args a) { return Arrays{ts::vecdot(in[0], in[1], a.n(0))}; }, 32};
  t["cross"] = {[](In in, Args a) { return Arrays{ts::cross(in[0], in[1], a.n(0))}; }, 32};
  t["polyder"] = {[](In in, Args a) { return Arrays{ts::polyder(in[0], a.n(0))}; }};
  t["polyint"] = {[](In in, Args a) { return Arrays{ts::polyint(in[0], a.n(0))}; }};
  t["polyint_of"] = {[](In in, Args a) { return Arrays{ts::polyint(in[0], a.n(0), in[1])}; }};
  t["conv_transpose"] = {
      [](In in, Args a) {
        return Arrays{ts::conv_transpose(
            in[0], in[1],
            {.strides = {a.n(0), a.n(0)}, .padding = a.s(1), .transpose_kernel = a.flag(2)})};
      },
      64};
}

}  // namespace golden
