// Sums, maxima and minima over sliding windows.
#include "ops/accumulate.h"
#include "ops/batching.h"
#include "ops/combine.h"
#include "ops/contraction/conv_dims.h"
#include "ops/fetch.h"
#include "ops/order.h"
#include "ops/reduction/window_dims.h"

#include <cmath>
#include <limits>

namespace tessera::inline v0::ops {

Value reduce_window(std::string_view op, Value x, const WindowDims& dims) {
  const WindowDims all = window_dims(window_attrs(dims, x.rank()));
  return x.builder->emit1(op, {x}, window_attrs(without_padding_only(x.shape(), all), x.rank()));
}

namespace {

// Windows of up to this many elements are summed in row-major order; larger ones in the order of
// the emitter's reduce.
constexpr std::int64_t kFoldedWindow = 64;

std::vector<Type> reduce_window_infer(const InferArgs& a) {
  return {Type(a.inputs[0].dtype, windowed_shape(a, a.inputs[0], window_dims(a.attrs)),
               a.inputs[0].weak)};
}

BatchResult reduce_window_batch(const BatchArgs& a) {
  int dim = a.dims[0];
  return {{reduce_window(a.op.name, a.inputs[0], with_stacked_dim(window_dims(a.attrs), dim))},
          {dim}};
}

FactorRule reduce_window_sharding(const ShardArgs& a) {
  FactorRule rule;
  const Shape& x = a.inputs[0].shape;
  const WindowDims d = window_dims(a.attrs);
  WindowFactors f = window_factors(
      rule, x, d, [&](int i) { return std::vector<FactorRule::Window>{window_along(x, d, i)}; });
  rule.input_dims(f.array);
  rule.output_dims(f.windows);
  return rule;
}

// Values outside the array are the neutral element.
Values reduce_window_local(const LocalArgs& a, Combiner how) {
  const Shape& whole = a.whole_inputs[0].shape;
  const WindowDims d = window_dims(a.attrs);
  const Shape windows = windowed_shape(whole, d);
  WindowDims part = d;
  Value x = a.inputs[0];
  for (int i = 0; i < whole.rank(); ++i) {
    if (a.outputs[0][i] == windows[i] || tiles(whole, d, i)) continue;
    const Strings& axes = a.output_specs[0].axes_of(i);
    const Stretch s = fetch_window(x, i, window_along(whole, d, i), axes, a.parts(axes),
                                   Around::of(constant(a.b, neutral_literal(x.dtype(), how))));
    part.pad_low[i] = s.low;
    part.pad_high[i] = s.high;
    if (s.spread > 1) part.base_dilation[i] = 1;
  }
  return a.b.emit(a.op, Values{x}, window_attrs(part, whole.rank()));
}

Cost reduce_window_cost(std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
  double elements = static_cast<double>(out[0].shape.count());
  for (std::int64_t w : attrs.ints("window")) elements *= static_cast<double>(w);
  return {elements, static_cast<double>(in[0].bytes() + out[0].bytes())};
}

// An element receives the cotangents of all windows that contain it: a sum over windows of the
// dilated cotangent.
MaybeValues transpose_sum(const TransposeArgs& a) {
  if (!a.cotangents[0]) return {std::nullopt};
  WindowDims d = window_dims(a.attrs);
  Value ct = *a.cotangents[0];
  const Type& x = a.types[0];
  if (ct.shape().count() == 0) return {zeros(a.b, Type(x.dtype, x.shape))};
  ConvDims c;
  c.strides = d.strides;
  c.pad_low = d.pad_low;
  c.lhs_dilation = d.base_dilation;
  c.rhs_dilation = d.window_dilation;
  Edges pad = lhs_gradient_padding(x.shape.to_vector(), d.window, ct.shape().to_vector(), c);
  return {
      reduce_window("reduce_window_sum", ct,
                    {d.window, d.base_dilation, pad.low, pad.high, d.strides, d.window_dilation})};
}

void evaluate_sum(const EvalArgs& a) {
  WindowDims d = window_dims(a.attrs);
  const HostArray& x = a.inputs[0];
  HostArray& out = a.outputs[0];
  Shape strides = x.shape.strides(), window(d.window);
  with_accumulator(x.dtype, out.dtype, [&](auto zero) {
    using A = decltype(zero);
    std::vector<A> from = widen<A>(x), result;
    for_each_index(out.shape, [&](const Shape& o) {
      A sum{};
      for_each_index(window, [&](const Shape& k) {
        std::int64_t at = window_element(x.shape, strides, d, o, k);
        if (at >= 0) sum += from[at];
      });
      result.push_back(sum);
    });
    narrow(result, out);
  });
}

template <class T>
auto comparable(T v) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return static_cast<float>(v);
  else
    return v;
}

template <class T>
T extremum_start(bool max) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return T(max ? -std::numeric_limits<float>::infinity()
                 : std::numeric_limits<float>::infinity());
  else if constexpr (std::is_floating_point_v<T>)
    return max ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  else
    return max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
}

void evaluate_extreme(const EvalArgs& a, bool max) {
  WindowDims d = window_dims(a.attrs);
  const HostArray& x = a.inputs[0];
  HostArray& out = a.outputs[0];
  Shape strides = x.shape.strides(), window(d.window);
  dispatch_real(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* from = x.data<T>();
    T* to = out.data<T>();
    for_each_index(out.shape, [&](const Shape& o) {
      T best = extremum_start<T>(max);
      for_each_index(window, [&](const Shape& k) {
        std::int64_t at = window_element(x.shape, strides, d, o, k);
        if (at < 0) return;
        auto v = comparable(from[at]), b = comparable(best);
        bool first = max ? v > b : v < b;
        if constexpr (std::is_floating_point_v<decltype(v)>)
          first = first || (v != v && b == b) ||  // NaN wins, and -0 is less than 0
                  (v == b && std::signbit(v) != std::signbit(b) && std::signbit(b) == max);
        if (first) best = from[at];
      });
      *to++ = best;
    });
  });
}

Lane emit_windows(Emitter& e, const Equation& eqn, std::span<const Index> at, DType acc, Lane init,
                  Arith combine) {
  WindowWalk walk(e.operand_type(0).shape, window_dims(eqn.attrs), at);
  auto element = [&](std::span<const Index> k) {
    std::vector<Index> where;
    std::vector<Bound> bounds;
    walk.locate(k, where, bounds);
    auto load = [&] { return e.convert(e.operand(0, where), acc); };
    return bounds.empty() ? load() : e.guarded(bounds, load, init);
  };
  std::int64_t elements = 1;
  for (std::int64_t n : walk.extents()) elements *= n;
  Lane result = elements <= kFoldedWindow
                    ? e.fold(walk.extents(), {init},
                             [&](std::span<const Index> k, std::span<const Lane> s) {
                               return std::vector<Lane>{e.binary(combine, s[0], element(k))};
                             })
                          .at(0)
                    : e.reduce(walk.extents(), init, element,
                               [&](Lane x, Lane y) { return e.binary(combine, x, y); });
  return e.convert(result, e.result_type().dtype);
}

Lane emit_sum(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  DType t = e.result_type().dtype, acc = accumulator_of(t, t);
  return emit_windows(e, eqn, at, acc, e.constant(acc, std::int64_t{0}),
                      t == DType::boolean ? Arith::or_ : Arith::add);
}

Lane emit_extreme(Emitter& e, const Equation& eqn, std::span<const Index> at, bool max) {
  DType t = e.result_type().dtype;
  Lane init =
      is_floating(t) ? e.constant(t, max ? -INFINITY : INFINITY) : dispatch_real(t, [&](auto tag) {
        return e.constant(
            t, static_cast<std::int64_t>(comparable(extremum_start<decltype(tag)>(max))));
      });
  return emit_windows(e, eqn, at, t, init, max ? Arith::max : Arith::min);
}

std::vector<OpExample> reduce_window_examples(bool ties) {
  auto example = [&](DType t, const Shape& x, const WindowDims& d) {
    OpExample out{.inputs = {Type(t, x)}, .attrs = window_attrs(d, x.rank())};
    if (ties && is_floating(t)) out.lo = -100, out.hi = 100;
    return out;
  };
  return {example(DType::float32, {2, 4, 4, 2}, {.window = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}}),
          example(DType::float32, {5, 6},
                  {.window = {3, 2}, .strides = {1, 2}, .pad_low = {1, 0}, .pad_high = {1, 1}}),
          example(DType::float32, {4},
                  {.window = {2}, .pad_low = {-1}, .base_dilation = {2}, .window_dilation = {2}}),
          example(DType::int32, {3, 5}, {.window = {2, 3}, .pad_high = {0, 2}}),
          example(DType::bfloat16, {6}, {.window = {3}, .strides = {2}})};
}

Op common(const char* name, const char* what, Combiner how) {
  Op op;
  op.name = name;
  op.doc = std::string(what) +
           " of each window of the array, whose extents, strides, padding and dilations are given "
           "for every dimension. Padding and "
           "holes do not count; a window of nothing else gives the identity.";
  op.stablehlo = "reduce_window";
  op.attrs = window_attr_specs();
  op.inputs = 1;
  op.cheap = false;
  op.infer = [how](const InferArgs& a) {
    if (how != Combiner::add) check_ordered(a, a.inputs[0]);
    return reduce_window_infer(a);
  };
  op.batch = reduce_window_batch;
  op.sharding = reduce_window_sharding;
  op.local = [how](const LocalArgs& a) { return reduce_window_local(a, how); };
  op.waived["updates"] = "what is gathered from a window is no element of a state";
  op.cost = reduce_window_cost;
  return op;
}

void register_extreme(Registry& r, bool max) {
  Op op = common(max ? "reduce_window_max" : "reduce_window_min",
                 max ? "The maximum" : "The minimum", max ? Combiner::max : Combiner::min);
  op.doc += " NaN propagates. The derivative goes to the first of equal elements.";
  op.jvp = [max](const JvpArgs& a) {
    if (!a.tangents[0]) return MaybeValues{std::nullopt};
    return MaybeValues{
        select_and_gather_add(a.inputs[0], *a.tangents[0], window_dims(a.attrs), max)};
  };
  op.evaluate = [max](const EvalArgs& a) { evaluate_extreme(a, max); };
  op.emit = [max](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    return emit_extreme(e, eqn, at, max);
  };
  op.waived["transpose"] = "it is not linear";
  op.examples = [] { return reduce_window_examples(true); };
  r.add(std::move(op));
}

}  // namespace

void register_reduce_window(Registry& r) {
  Op sum = common("reduce_window_sum", "The sum", Combiner::add);
  sum.doc += " Adds up as dot_general does.";
  sum.jvp = [](const JvpArgs& a) {
    if (!a.tangents[0]) return MaybeValues{std::nullopt};
    return MaybeValues{reduce_window("reduce_window_sum", *a.tangents[0], window_dims(a.attrs))};
  };
  sum.transpose = transpose_sum;
  sum.evaluate = evaluate_sum;
  sum.emit = emit_sum;
  sum.examples = [] { return reduce_window_examples(false); };
  r.add(std::move(sum));
  register_extreme(r, true);
  register_extreme(r, false);
}

}  // namespace tessera::inline v0::ops
