#include <tessera/statistics.h>

#include "api/numpy/array_helpers.h"

#include <tessera/constants.h>

#include <tessera/contractions.h>
#include <tessera/operators.h>

namespace tessera::inline v0 {

using detail::composed1;
using detail::in_floats;
using detail::rank_of;

namespace {
using Arrays = std::vector<Array>;
using In = std::span<const Array>;

Arrays with(const Array& x, const std::optional<Array>& y) {
  Arrays all{x};
  if (y) all.push_back(*y);
  return all;
}
}  // namespace

Array average(Operand x, const AverageOptions& o) {
  return composed1("average", with(x.array, o.weights), x.loc, [&](In in) {
    if (!o.weights) return mean(in_floats(in[0]), {.axis = o.axis, .keepdims = o.keepdims});
    auto [v, w] = detail::both_in_floats(in[0], in[1]);
    const bool whole = w.shape() == v.shape();
    const std::span<const std::int64_t> axes = o.axis.get();
    const int axis = axes.size() == 1 ? normalize_axis(axes[0], rank_of(v), "average", x.loc) : 0;
    if (!whole && (axes.size() != 1 || rank_of(w) != 1 || w.size() != detail::extent_of(v, axis)))
      Message("average")
          .problem("weights of shape " + to_string(w.shape()) + " for an array of shape " +
                   to_string(v.shape()))
          .rule("they have the shape of the array, or are a vector along the one axis")
          .from(x.loc)
          .advice("name the axis, {.axis = 0, .weights = w}, or broadcast_to the weights")
          .raise<ShapeError>();
    if (!whole) w = broadcast_to(detail::along(w, axis, rank_of(v)), v.shape());
    const ReduceOptions over{.axis = o.axis, .keepdims = o.keepdims};
    return divide(sum(multiply(v, w), over), sum(w, over));
  });
}

Array ptp(Operand x, const OverOptions& o) {
  return composed1("ptp", {x.array}, x.loc, [&](In in) {
    const ReduceOptions over{.axis = o.axis, .keepdims = o.keepdims};
    return subtract(max(in[0], over), min(in[0], over));
  });
}

namespace {
bool may_lack(const Array& x) { return is_inexact(x.dtype()); }
Array without(const Array& x, double instead) {
  return may_lack(x) ? where(isnan(x), instead, x) : x;
}
template <class Options, class F>
Array counted_options(const char* name, const Operand& x, const Options& o, F f) {
  return composed1(name, {x.array}, x.loc, [&](In in) {
    Options present = o;
    if (may_lack(in[0])) present.where = logical_not(isnan(in[0]));
    return f(in[0], present);
  });
}
Array nan_extremum(const char* name, const Operand& x, const OverOptions& o, double worst,
                   Array (*f)(Operand, const ReduceOptions&)) {
  return composed1(name, {x.array}, x.loc, [&](In in) {
    detail::need_real(name, in[0], x.loc);
    const Array r = f(without(in[0], worst), {.axis = o.axis, .keepdims = o.keepdims});
    if (!may_lack(in[0])) return r;
    return where(all(isnan(in[0]), {.axis = o.axis, .keepdims = o.keepdims}), v0::nan, r);
  });
}
Array position(const char* name, const Operand& x, const ArgOptions& o, double worst,
               Array (*f)(Operand, const ArgOptions&)) {
  return composed1(name, {x.array}, x.loc, [&](In in) {
    detail::need_real(name, in[0], x.loc);
    const Array r = f(without(in[0], worst), o);
    if (!may_lack(in[0])) return r;
    const AxisList over = o.axis ? AxisList(*o.axis) : AxisList();
    return where(all(isnan(in[0]), {.axis = over, .keepdims = o.keepdims}), -1, r);
  });
}
}  // namespace

Array nansum(Operand x, const ReduceOptions& o) {
  return composed1("nansum", {x.array}, x.loc, [&](In in) { return sum(without(in[0], 0), o); });
}
Array nanprod(Operand x, const ReduceOptions& o) {
  return composed1("nanprod", {x.array}, x.loc, [&](In in) { return prod(without(in[0], 1), o); });
}
Array nanmax(Operand x, const OverOptions& o) { return nan_extremum("nanmax", x, o, -inf, max); }
Array nanmin(Operand x, const OverOptions& o) { return nan_extremum("nanmin", x, o, inf, min); }
Array nanmean(Operand x, const MeanOptions& o) {
  return counted_options("nanmean", x, o,
                         [](const Array& v, const MeanOptions& p) { return mean(v, p); });
}
Array nanvar(Operand x, const VarOptions& o) {
  return counted_options("nanvar", x, o,
                         [](const Array& v, const VarOptions& p) { return var(v, p); });
}
Array nanstd(Operand x, const VarOptions& o) {
  return counted_options("nanstd", x, o,
                         [](const Array& v, const VarOptions& p) { return std(v, p); });
}
Array nanargmax(Operand x, const ArgOptions& o) {
  return position("nanargmax", x, o, -inf, argmax);
}
Array nanargmin(Operand x, const ArgOptions& o) { return position("nanargmin", x, o, inf, argmin); }

namespace {
Array variables(const char* name, const Array& x, bool rowvar, const SourceLoc& loc) {
  if (rank_of(x) > 2) detail::need_rank(name, x, 2, loc);
  if (rank_of(x) < 2) return x.reshape(Shape{1, x.size()});
  return rowvar || detail::extent_of(x, 0) == 1 ? x : transpose(x);
}
Array covariance(const char* name, In in, const CovOptions& o, const SourceLoc& loc) {
  Array v = variables(name, in_floats(in[0]), o.rowvar, loc);
  if (in.size() > 1) v = concatenate({v, variables(name, in_floats(in[1]), o.rowvar, loc)});
  const Array centred = subtract(v, mean(v, {.axis = 1, .keepdims = true}));
  const std::int64_t free = detail::extent_of(v, 1) - o.ddof.value_or(o.bias ? 0 : 1);
  const Array products = dot(centred, transpose(conj(centred)));
  return squeeze(divide(products, static_cast<double>(free)));
}
}  // namespace

Array cov(Operand x, const CovOptions& o) {
  return composed1("cov", with(x.array, o.y), x.loc,
                   [&](In in) { return covariance("cov", in, o, x.loc); });
}
Array corrcoef(Operand x, const CorrcoefOptions& o) {
  return composed1("corrcoef", with(x.array, o.y), x.loc, [&](In in) {
    const Array c = covariance("corrcoef", in, {.rowvar = o.rowvar}, x.loc);
    if (rank_of(c) == 0) return divide(c, c);
    const Array size = sqrt(real(diag(c)));
    const Array r = divide(divide(c, expand_dims(size, 1)), expand_dims(size, 0));
    if (is_complex(r.dtype())) return complex(clip(real(r), -1, 1), clip(imag(r), -1, 1));
    return clip(r, -1, 1);
  });
}

}  // namespace tessera::inline v0
