#include <tessera/combine.h>

#include "api/trace/composite.h"
#include "api/trace/traced.h"
#include "ops/movement/order_by.h"
#include "ops/reduction/general.h"

namespace tessera::inline v0 {

using detail::composite;

namespace {

using Arrays = std::vector<Array>;
using CombineBody = std::function<Arrays(std::span<const Array>)>;

/// Traces a function on scalars of these dtypes.
ProgramPtr traced_body(const char* function, std::span<const DType> dtypes, const SourceLoc& loc,
                       const CombineBody& body) {
  detail::Trace trace(std::string(function) + " body");
  Arrays in;
  for (DType d : dtypes) in.push_back(trace.input(Type(d, Shape{}), loc));
  const Arrays out = body(in);
  for (const Array& x : out)
    if (x.is_empty())
      Message(function)
          .problem("the function gives an array that was never set")
          .rule("it gives scalars")
          .from(loc)
          .advice("return what it computes")
          .raise<TreeError>();
  detail::Trace::Finished f = trace.finish(out);
  if (!f.captures.empty())
    Message(function)
        .problem("the function uses " + std::to_string(f.captures.size()) +
                 (f.captures.size() == 1 ? " array" : " arrays") + " from outside, the first of " +
                 to_string(Type(f.captures[0].dtype(), f.captures[0].shape())))
        .rule("it is a function of its elements alone, with C++ numbers as constants")
        .from(loc)
        .advice("pass it as one more array, or use ts::scan")
        .raise<TreeError>();
  return f.program;
}

std::vector<DType> dtypes_of(const Arrays& xs, int times) {
  std::vector<DType> out;
  for (int k = 0; k < times; ++k)
    for (const Array& x : xs) out.push_back(x.dtype());
  return out;
}

/// The program that combines (accumulated..., elements...), `n` of each.
ProgramPtr combiner(const char* function, const Arrays& xs, const CombineAll& combine,
                    const SourceLoc& loc) {
  return traced_body(function, dtypes_of(xs, 2), loc, [&](std::span<const Array> in) {
    const std::size_t n = xs.size();
    Arrays out = combine({in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n)},
                         {in.begin() + static_cast<std::ptrdiff_t>(n), in.end()});
    // A bare number takes the dtype of the array that it stands for.
    for (std::size_t i = 0; i < std::min(n, out.size()); ++i)
      if (!out[i].is_empty() && out[i].impl()->type.weak) out[i] = out[i].astype(xs[i].dtype());
    return out;
  });
}
CombineAll of_scalars(const Combine& combine) {
  return [&combine](Arrays a, Arrays b) { return Arrays{combine(a[0], b[0])}; };
}

/// The initial values in the dtypes of their arrays.
Values inits_like(std::span<const Value> in) {
  const std::size_t n = in.size() / 2;
  Values out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(ops::convert(in[n + i], in[i].dtype()));
  return out;
}
Values unweakened(std::span<const Value> in) {
  Values out;
  for (Value x : in.first(in.size() / 2)) out.push_back(ops::convert(x, x.dtype()));
  return out;
}

Arrays reduce_all(const Arrays& xs, const Arrays& inits, const CombineAll& combine,
                  const AxisList& axes, const SourceLoc& loc) {
  const InFunction called("reduce", loc);
  if (xs.empty() || xs.size() != inits.size())
    Message("reduce")
        .problem(std::to_string(xs.size()) + " arrays and " + std::to_string(inits.size()) +
                 " inits")
        .rule("one array or more, and an init for each")
        .from(loc)
        .advice("give a scalar for each array")
        .raise<ShapeError>();
  const ProgramPtr body = combiner("reduce", xs, combine, loc);
  Arrays all = xs;
  all.insert(all.end(), inits.begin(), inits.end());
  return composite("reduce", all, loc, [&](Builder&, std::span<const Value> in) {
    const Ints over = detail::normalize_axes(axes.get(), in[0].rank(), "reduce", loc);
    return ops::reduce(unweakened(in), inits_like(in), body, over);
  });
}

}  // namespace

Array reduce(Operand x, Operand init, const Combine& combine, const AxisList& axes) {
  return reduce_all({x.array}, {init.array}, of_scalars(combine), axes, x.loc)[0];
}
std::vector<Array> reduce(const std::vector<Array>& xs, const std::vector<Array>& inits,
                          const CombineAll& combine, const AxisList& axes,
                          std::source_location loc) {
  return reduce_all(xs, inits, combine, axes, detail::line_of(loc));
}

Array reduce_window(Operand x, Operand init, const Combine& combine,
                    const ReduceWindowOptions& options) {
  const InFunction called("reduce_window", x.loc);
  const ProgramPtr body = combiner("reduce_window", {x.array}, of_scalars(combine), x.loc);
  ops::WindowDims d{.window = options.window,
                    .strides = options.strides,
                    .base_dilation = options.base_dilation,
                    .window_dilation = options.window_dilation};
  for (const auto& [low, high] : options.padding) {
    d.pad_low.push_back(low);
    d.pad_high.push_back(high);
  }
  const Arrays in{x.array, init.array};
  return composite("reduce_window", in, x.loc, [&](Builder&, std::span<const Value> values) {
    return ops::reduce_window(unweakened(values), inits_like(values), body, d);
  })[0];
}

std::vector<Array> sort_by(const std::vector<Array>& xs, const Before& before, std::int64_t axis,
                           std::source_location where) {
  const SourceLoc loc = detail::line_of(where);
  const InFunction called("sort_by", loc);
  if (xs.empty())
    Message("sort_by")
        .problem("there is nothing to sort")
        .rule("one array or more")
        .from(loc)
        .advice("pass an array")
        .raise<ShapeError>();
  std::vector<DType> pairs;
  for (const Array& x : xs) pairs.insert(pairs.end(), 2, x.dtype());
  const ProgramPtr comparator = traced_body("sort_by", pairs, loc, [&](std::span<const Array> in) {
    Arrays a, b;
    for (std::size_t k = 0; k < in.size(); k += 2) a.push_back(in[k]), b.push_back(in[k + 1]);
    return Arrays{before(a, b)};
  });
  return composite("sort_by", xs, loc, [&](Builder&, std::span<const Value> in) {
    Values arrays;
    for (Value x : in) arrays.push_back(ops::convert(x, x.dtype()));
    const std::int64_t named[] = {axis};
    const Ints along = detail::normalize_axes(named, in[0].rank(), "sort_by", loc);
    return ops::sort_by(arrays, comparator, static_cast<int>(along[0]));
  });
}

}  // namespace tessera::inline v0
