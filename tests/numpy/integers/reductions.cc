// Reductions and cumulative functions, with their options.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

using Fold = std::function<Wide(const std::vector<Wide>&, DType)>;

// The elements that contribute to each result.
struct Groups {
  Shape shape;
  std::vector<std::vector<Wide>> of;
};
Groups grouped(const Grid& x, const std::vector<bool>& reduced, bool keepdims, const Grid* mask) {
  Groups g;
  Shape full;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    full.push_back(reduced[d] ? 1 : x.shape[d]);
    if (!reduced[d] || keepdims) g.shape.push_back(full[d]);
  }
  g.of.resize(static_cast<std::size_t>(full.count()));
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const Ints from = unravel(i, x.shape);
    if (mask && element(*mask, from) == 0) continue;
    Ints at = from;
    for (std::size_t d = 0; d < at.size(); ++d)
      if (reduced[d]) at[d] = 0;
    g.of[static_cast<std::size_t>(ravel(at, full))].push_back(x.at[static_cast<std::size_t>(i)]);
  }
  return g;
}

// The parts that all reductions share.
struct Reduction {
  Grid x;
  std::vector<bool> reduced;
  Ints axes;
  bool keepdims;
  std::optional<Grid> mask;
  std::string call;
  Groups groups() const { return grouped(x, reduced, keepdims, mask ? &*mask : nullptr); }
  bool of_nothing() const {
    bool nothing = false;
    for (std::size_t d = 0; d < reduced.size(); ++d)
      nothing = nothing || (reduced[d] && x.shape[d] == 0);
    return nothing;
  }
};
Reduction draw_reduction(Dice& dice, const std::string& name, bool masks = true) {
  Reduction r;
  r.x = draw_array(dice);
  r.call = name + "(x";
  for (std::size_t d = 0; d < r.x.shape.size(); ++d) {
    if (!dice.toss()) continue;
    r.axes.push_back(static_cast<std::int64_t>(d) -
                     (dice.once_in(3) ? static_cast<std::int64_t>(r.x.shape.size()) : 0));
    r.call += ", axis " + std::to_string(r.axes.back());
  }
  r.reduced.assign(r.x.shape.size(), r.axes.empty());
  for (std::int64_t a : r.axes) r.reduced[axis_at(a, r.x.shape)] = true;
  r.keepdims = dice.once_in(3);
  if (r.keepdims) r.call += ", keepdims";
  if (masks && dice.once_in(4)) {
    r.mask = draw_array(dice, ts::bool_, r.x.shape);
    r.call += ", where y";
  }
  return r;
}

DType accumulation(DType d) {
  if (bits_of(d) >= 32) return d;
  return ts::is_unsigned_integer(d) ? ts::u32 : ts::i32;
}

using Reduce = std::function<Array(Array, const ts::ReduceOptions&)>;

// sum, prod, max and min; `widens` says which accumulate in 32 bits.
Row folded(const std::string& name, Reduce f, bool widens, Fold fold) {
  return {name, [=](Dice& dice) {
            Reduction r = draw_reduction(dice, name);
            Case c;
            std::optional<DType> dtype;
            if (dice.once_in(4)) dtype = draw_dtype(dice, false);
            DType result = dtype.value_or(widens ? accumulation(r.x.dtype) : r.x.dtype);
            if (dtype) r.call += ", dtype " + std::string(ts::short_name_of(*dtype));
            std::optional<Grid> initial;
            const bool none = r.of_nothing() || r.mask;
            if (dice.once_in(3) || (!widens && none && dice.toss())) {
              // An array of the result's dtype, or a number.
              initial = dice.toss() ? draw_array(dice, result, {})
                                    : draw_number(dice, result == ts::bool_ ? ts::i64 : result);
              if (result == ts::bool_) initial = draw_array(dice, result, {});
              r.call += ", initial";
            }
            c.call = r.call + ")";
            c.operands = {r.x};
            if (r.mask) c.operands.push_back(*r.mask);
            if (initial) c.operands.push_back(*initial);
            c.f = [f, axes = r.axes, keepdims = r.keepdims, dtype, mask = r.mask.has_value(),
                   initial = initial.has_value()](const Arrays& in) {
              ts::ReduceOptions o{.axis = axes, .keepdims = keepdims, .dtype = dtype};
              if (mask) o.where = in[1];
              if (initial) o.initial = in.back();
              return Arrays{f(in[0], o)};
            };
            if (!widens && none && !initial) {
              c.refused = Refusal::shape;
              return c;
            }
            if (initial && initial->number && !fits(initial->at[0], result)) {
              c.refused = Refusal::dtype;
              return c;
            }
            for (Wide& v : r.x.at) v = wrapped(v, result);
            Groups g = r.groups();
            Grid out = zeros(result, g.shape);
            for (std::size_t i = 0; i < g.of.size(); ++i) {
              if (initial) g.of[i].push_back(initial->at[0]);
              out.at[i] = wrapped(fold(g.of[i], result), result);
            }
            c.expected = {exactly(out)};
            return c;
          }};
}

// The call of f on a drawn reduction, with its axes and mask as options.
template <class Options>
Case call_on(const Reduction& r, const std::function<Array(Array, const Options&)>& f) {
  Case c;
  c.call = r.call + ")";
  c.operands = {r.x};
  if (r.mask) c.operands.push_back(*r.mask);
  c.f = [f, axes = r.axes, keepdims = r.keepdims, mask = r.mask.has_value()](const Arrays& in) {
    Options o{.axis = axes, .keepdims = keepdims};
    if (mask) o.where = in[1];
    return Arrays{f(in[0], o)};
  };
  return c;
}

using Logic = std::function<Array(Array, const ts::LogicOptions&)>;
Row logic(const std::string& name, Logic f, DType result, Fold fold) {
  return {name, [=](Dice& dice) {
            const Reduction r = draw_reduction(dice, name);
            Case c = call_on(r, f);
            const Groups g = r.groups();
            Grid out = zeros(result, g.shape);
            for (std::size_t i = 0; i < g.of.size(); ++i) out.at[i] = fold(g.of[i], result);
            c.expected = {exactly(out)};
            return c;
          }};
}

// Computed in floats: the bits of the results for the float values.
Row as_of_floats(const std::string& name, std::function<Array(Array, const Ints&, bool)> f) {
  return {name, [=](Dice& dice) {
            const Reduction r = draw_reduction(dice, name, false);
            Case c;
            c.call = r.call + ")";
            c.operands = {r.x};
            c.f = [f, axes = r.axes, keepdims = r.keepdims](const Arrays& in) {
              return Arrays{f(in[0], axes, keepdims)};
            };
            if (name == "logsumexp" && r.of_nothing())
              c.operands[0] =
                  draw_array(dice, r.x.dtype,
                             Shape(r.x.shape.size() ? Shape(Ints(r.x.shape.size(), 2)) : Shape{}));
            const DType d = bits_of(r.x.dtype) == 64 ? ts::f64 : ts::f32;
            c.expected = {bits_of_array(f(array_of(c.operands[0], d), r.axes, r.keepdims))};
            return c;
          }};
}

// The mean in floats of n values: each is rounded once, added at most n - 1 times and divided, with
// an error of at most u = 2^-24 (2^-53) of what is rounded each time; together at most (n + 1) u of
// the mean magnitude, and a tenth more for terms of higher order.
Row mean_row(const std::string& name, std::function<Array(Array, const ts::MeanOptions&)> f) {
  return {name, [=](Dice& dice) {
            const Reduction r = draw_reduction(dice, name);
            Case c = call_on(r, f);
            const Groups g = r.groups();
            for (const auto& of : g.of)
              if (of.empty()) return c;  // NaN
            Expected e;
            e.dtype = bits_of(r.x.dtype) == 64 ? ts::f64 : ts::f32;
            e.shape = g.shape;
            const long double u = e.dtype == ts::f64 ? 0x1p-53L : 0x1p-24L;
            for (const auto& of : g.of) {
              long double sum = 0, size = 0;
              const auto n = static_cast<long double>(of.size());
              for (Wide v : of)
                sum += static_cast<long double>(v), size += std::fabs(static_cast<long double>(v));
              const long double bound = 1.1L * (n + 1) * u * size / n;
              e.low.push_back(sum / n - bound), e.high.push_back(sum / n + bound);
            }
            c.expected = {e};
            return c;
          }};
}

Row extremum(const std::string& name, std::function<Array(Array, const ts::ArgOptions&)> f,
             bool greatest) {
  return {name, [=](Dice& dice) {
            Case c;
            const Grid x = draw_array(dice);
            c.operands = {x};
            ts::ArgOptions o;
            if (!x.shape.empty() && dice.toss()) o.axis = draw_axis(dice, x.shape);
            o.keepdims = dice.once_in(3);
            c.call = name + "(x" + (o.axis ? ", " + std::to_string(*o.axis) : "") +
                     (o.keepdims ? ", keepdims)" : ")");
            c.f = [f, o](const Arrays& in) { return Arrays{f(in[0], o)}; };
            std::vector<bool> reduced(x.shape.size(), !o.axis);
            if (o.axis) reduced[axis_at(*o.axis, x.shape)] = true;
            const std::int64_t n = o.axis ? x.shape[axis_at(*o.axis, x.shape)] : x.count();
            if (n == 0) {
              c.refused = Refusal::shape;
              return c;
            }
            const Groups g = grouped(x, reduced, o.keepdims, nullptr);
            Grid out = zeros(ts::i32, g.shape);
            for (std::size_t i = 0; i < g.of.size(); ++i) {
              const auto& v = g.of[i];
              out.at[i] = (greatest ? std::max_element(v.begin(), v.end())
                                    : std::min_element(v.begin(), v.end())) -
                          v.begin();
            }
            c.expected = {exactly(out)};
            return c;
          }};
}

// Running sums along an axis, in `dtype`; sums and products treat booleans as int32.
Row running(const std::string& name, std::function<Array(Array, const ts::CumulativeOptions&)> f,
            std::function<Wide(Wide, Wide)> g, bool extremes) {
  return {name, [=](Dice& dice) {
            Case c;
            Grid x = draw_array(dice);
            if (extremes && x.shape.empty()) x.shape = {1};
            c.operands = {x};
            ts::CumulativeOptions o;
            if (!x.shape.empty() && (extremes || dice.toss())) o.axis = draw_axis(dice, x.shape);
            if (!extremes && dice.once_in(3)) o.dtype = draw_dtype(dice, false);
            c.call = name + "(x" + (o.axis ? ", axis " + std::to_string(*o.axis) : "") +
                     (o.dtype ? ", dtype " + std::string(ts::short_name_of(*o.dtype)) : "") + ")";
            c.f = [f, o](const Arrays& in) { return Arrays{f(in[0], o)}; };
            const DType result =
                o.dtype.value_or(!extremes && x.dtype == ts::bool_ ? ts::i32 : x.dtype);
            Grid r = x;
            r.dtype = result;
            if (!o.axis) r.shape = {x.count()};
            for (Wide& v : r.at) v = wrapped(v, result);
            const std::size_t a = o.axis ? axis_at(*o.axis, x.shape) : 0;
            for (std::int64_t i = 0; i < r.count(); ++i) {
              Ints at = unravel(i, r.shape);
              if (at[a]-- == 0) continue;
              const Wide before = element(r, at);
              Wide& v = r.at[static_cast<std::size_t>(i)];
              v = wrapped(g(before, v), result);
            }
            c.expected = {exactly(r)};
            return c;
          }};
}

}  // namespace

std::vector<Row> reduction_rows() {
  const Fold total = [](const std::vector<Wide>& v, DType) {
    Wide s = 0;
    for (Wide e : v) s += e;
    return s;
  };
  const Fold product = [](const std::vector<Wide>& v, DType) {
    Wide p = 1;
    for (Wide e : v) p = times(p, e);
    return p;
  };
  const Fold greatest = [](const std::vector<Wide>& v, DType) {
    return *std::max_element(v.begin(), v.end());
  };
  const Fold smallest = [](const std::vector<Wide>& v, DType) {
    return *std::min_element(v.begin(), v.end());
  };
  const Fold any = [](const std::vector<Wide>& v, DType) {
    return Wide(std::any_of(v.begin(), v.end(), [](Wide e) { return e != 0; }));
  };
  const Fold all = [](const std::vector<Wide>& v, DType) {
    return Wide(std::all_of(v.begin(), v.end(), [](Wide e) { return e != 0; }));
  };
  const Fold count = [](const std::vector<Wide>& v, DType) {
    return Wide(std::count_if(v.begin(), v.end(), [](Wide e) { return e != 0; }));
  };
  const auto add = [](Wide x, Wide y) { return x + y; };
  const auto more = [](Wide x, Wide y) { return std::max(x, y); };
  const auto less = [](Wide x, Wide y) { return std::min(x, y); };
  using R = ts::ReduceOptions;
  using L = ts::LogicOptions;
  using C = ts::CumulativeOptions;
  return {
      folded(
          "sum", [](Array x, const R& o) { return ts::sum(x, o); }, true, total),
      folded(
          "Array::sum", [](Array x, const R& o) { return x.sum(o); }, true, total),
      folded(
          "prod", [](Array x, const R& o) { return ts::prod(x, o); }, true, product),
      folded(
          "Array::prod", [](Array x, const R& o) { return x.prod(o); }, true, product),
      folded(
          "max", [](Array x, const R& o) { return ts::max(x, o); }, false, greatest),
      folded(
          "Array::max", [](Array x, const R& o) { return x.max(o); }, false, greatest),
      folded(
          "min", [](Array x, const R& o) { return ts::min(x, o); }, false, smallest),
      folded(
          "Array::min", [](Array x, const R& o) { return x.min(o); }, false, smallest),
      logic(
          "any", [](Array x, const L& o) { return ts::any(x, o); }, ts::bool_, any),
      logic(
          "Array::any", [](Array x, const L& o) { return x.any(o); }, ts::bool_, any),
      logic(
          "All::operator()", [](Array x, const L& o) { return ts::all(x, o); }, ts::bool_, all),
      logic(
          "Array::all", [](Array x, const L& o) { return x.all(o); }, ts::bool_, all),
      logic(
          "count_nonzero", [](Array x, const L& o) { return ts::count_nonzero(x, o); }, ts::i32,
          count),
      mean_row("mean", [](Array x, const ts::MeanOptions& o) { return ts::mean(x, o); }),
      mean_row("Array::mean", [](Array x, const ts::MeanOptions& o) { return x.mean(o); }),
      as_of_floats("var", [](Array x, const Ints& a,
                             bool k) { return ts::var(x, {.axis = a, .keepdims = k}); }),
      as_of_floats("Array::var", [](Array x, const Ints& a,
                                    bool k) { return x.var({.axis = a, .keepdims = k}); }),
      as_of_floats("std", [](Array x, const Ints& a,
                             bool k) { return ts::std(x, {.axis = a, .keepdims = k}); }),
      as_of_floats("Array::std", [](Array x, const Ints& a,
                                    bool k) { return x.std({.axis = a, .keepdims = k}); }),
      as_of_floats("logsumexp",
                   [](Array x, const Ints& a, bool k) {
                     return ts::logsumexp(x, {.axis = a, .keepdims = k});
                   }),
      as_of_floats("norm",
                   [](Array x, const Ints& a, bool k) {
                     return ts::norm(ts::ravel(x), {.axis = Ints{}, .keepdims = k && a.empty()});
                   }),
      extremum(
          "argmax", [](Array x, const ts::ArgOptions& o) { return ts::argmax(x, o); }, true),
      extremum(
          "Array::argmax", [](Array x, const ts::ArgOptions& o) { return x.argmax(o); }, true),
      extremum(
          "argmin", [](Array x, const ts::ArgOptions& o) { return ts::argmin(x, o); }, false),
      extremum(
          "Array::argmin", [](Array x, const ts::ArgOptions& o) { return x.argmin(o); }, false),
      running(
          "cumsum", [](Array x, const C& o) { return ts::cumsum(x, o); }, add, false),
      running(
          "Array::cumsum", [](Array x, const C& o) { return x.cumsum(o); }, add, false),
      running(
          "cumprod", [](Array x, const C& o) { return ts::cumprod(x, o); }, times, false),
      running(
          "Array::cumprod", [](Array x, const C& o) { return x.cumprod(o); }, times, false),
      running(
          "cummax", [](Array x, const C& o) { return ts::cummax(x, {.axis = *o.axis}); }, more,
          true),
      running(
          "cummin", [](Array x, const C& o) { return ts::cummin(x, {.axis = *o.axis}); }, less,
          true),
  };
}

}  // namespace integers
