// reduce_window by a body, and select_and_scatter, which is a reduce_window and a scatter.
#include "ops/contraction/conv_dims.h"
#include "ops/factors.h"
#include "ops/indexing/combine_at.h"
#include "ops/reduction/general.h"
#include "ops/reduction/window_dims.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Values reduce_window(std::span<const Value> xs, std::span<const Value> inits,
                     const ProgramPtr& body, const WindowDims& dims) {
  Values in(xs.begin(), xs.end());
  in.insert(in.end(), inits.begin(), inits.end());
  const int rank = xs[0].rank();
  const WindowDims all = window_dims(window_attrs(dims, rank));
  Attrs attrs = window_attrs(without_padding_only(xs[0].shape(), all), rank);
  attrs.set("body", body);
  return xs[0].builder->emit("reduce_window", in, attrs);
}

namespace {

std::vector<Type> general_window_infer(const InferArgs& a) {
  return infer_reduced(a,
                       [&](const Type& x) { return windowed_shape(a, x, window_dims(a.attrs)); });
}

// Uses ops that have derivatives: combines the k-th elements of all windows at once, for one k
// after another.
Values element_by_element(Builder& b, std::span<const Value> inputs, const Attrs& attrs) {
  const Program& body = *attrs.program("body");
  const WindowDims d = window_dims(attrs);
  const auto [xs, inits] = reduced(inputs);
  const Shape shape = xs[0].shape(), windows = windowed_shape(shape, d);
  Values arrays, start;
  for (Value init : inits)
    start.push_back(init.rank() == 0 ? broadcast_in_dim(init, windows, {}) : init);
  if (windows.count() == 0) return start;  // cropping may leave a negative extent
  Ints interior;
  for (std::int64_t n : d.base_dilation) interior.push_back(n - 1);
  auto padded = [&](Value x) {
    return pad(x, scalar(b, x.dtype(), 0), d.pad_low, d.pad_high, interior);
  };
  const Value there = padded(full(b, DType::boolean, shape, 1));
  for (Value x : xs) arrays.push_back(padded(x));
  Values acc = start;
  for_each_index(Shape(d.window), [&](const Shape& k) {
    Ints from, to;
    for (int i = 0; i < windows.rank(); ++i) {
      from.push_back(k[i] * d.window_dilation[i]);
      to.push_back(from.back() + (windows[i] - 1) * d.strides[i] + 1);
    }
    const Value inside = slice(there, from, to, d.strides);
    Values next = acc;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      next.push_back(slice(arrays[i], from, to, d.strides));
    next = map_body(b, body, next);
    for (std::size_t i = 0; i < acc.size(); ++i) acc[i] = select(inside, next[i], acc[i]);
  });
  return acc;
}

BatchResult general_window_batch(const BatchArgs& a) {
  const std::size_t n = a.inputs.size() / 2;
  Shape x = a.inputs[0].shape();
  if (a.dims[0] != kUnbatched) x.erase(x.begin() + a.dims[0]);
  const WindowDims d = window_dims(a.attrs);
  const Values in = stacked_operands(a, windowed_shape(x, d));
  return {reduce_window(std::span(in).first(n), std::span(in).subspan(n), a.attrs.program("body"),
                        with_stacked_dim(d, 0)),
          std::vector<int>(n, 0)};
}

// Dimensions along which windows do not slide pass through.
FactorRule general_window_sharding(const ShardArgs& a) {
  FactorRule rule;
  const Shape &x = a.inputs[0].shape, &out = a.outputs[0].shape;
  const WindowDims d = window_dims(a.attrs);
  std::vector<int> in, windows;
  for (int i = 0; i < x.rank(); ++i) {
    in.push_back(rule.factor(x[i]));
    if (d.window[i] == 1 && tiles(x, d, i)) {
      windows.push_back(in.back());
      continue;
    }
    windows.push_back(rule.factor(out[i]));
    rule.mark(FactorRule::Kind::need_repl, in.back());
    rule.mark(FactorRule::Kind::need_repl, windows.back());
  }
  factors_of_reduced(rule, a, in, windows);
  return rule;
}

void general_window_evaluate(const EvalArgs& a) {
  const WindowDims d = window_dims(a.attrs);
  const Shape &x = a.inputs[0].shape, strides = x.strides(), window(d.window);
  evaluate_folds(a, [&](const Shape& o, FunctionRef<void(std::int64_t)> take) {
    for_each_index(window, [&](const Shape& k) {
      if (const std::int64_t flat = window_element(x, strides, d, o, k); flat >= 0) take(flat);
    });
  });
}

// In padding and holes the accumulators stay unchanged.
Lane general_window_emit(Emitter& e, const Equation& eqn, int result, std::span<const Index> at) {
  const ProgramPtr body = inlined_body(eqn.attrs.program("body"));
  const WindowDims d = window_dims(eqn.attrs);
  const auto n = static_cast<int>(eqn.outputs.size());
  const Shape x = e.operand_type(0).shape;
  const std::vector<Lane> init = initial_lanes(e, n, at);
  const std::vector<Index> origin(at.begin(), at.end());
  auto step = [&, init, origin](std::span<const Index> k, std::span<const Lane> acc) {
    std::vector<Index> where;
    std::vector<Bound> bounds;
    for (int i = 0; i < x.rank(); ++i) {
      const auto u = static_cast<std::size_t>(i);
      const Index p = origin[u] * d.strides[u] + k[u] * d.window_dilation[u] - Index(d.pad_low[u]);
      bounds.push_back({p, 0, dilated(x[i], d.base_dilation[u])});
      if (d.base_dilation[u] > 1) bounds.push_back({floor_mod(p, d.base_dilation[u]), 0, 1});
      where.push_back(d.base_dilation[u] > 1 ? floor_div(p, d.base_dilation[u]) : p);
    }
    std::vector<Lane> in(acc.begin(), acc.end());
    for (int i = 0; i < n; ++i)
      in.push_back(e.guarded(
          bounds, [&] { return e.operand(i, where); }, init[static_cast<std::size_t>(i)]));
    const Lane inside = e.guarded(
        bounds, [&] { return e.constant(DType::boolean, std::int64_t{1}); },
        e.constant(DType::boolean, std::int64_t{0}));
    std::vector<Lane> next = emit_body(e, *body, in);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = e.select(inside, next[i], acc[i]);
    return next;
  };
  return e.fold(Ints(d.window), init, step).at(static_cast<std::size_t>(result));
}

std::vector<OpExample> general_window_examples() {
  auto example = [](std::vector<Type> in, const ProgramPtr& body, const WindowDims& d) {
    const std::size_t n = in.size();
    Attrs attrs = window_attrs(d, in[0].shape.rank());
    attrs.set("body", body);
    for (std::size_t i = 0; i < n; ++i) in.emplace_back(in[i].dtype, Shape{});
    return OpExample{std::move(in), std::move(attrs)};
  };
  const Type floats(DType::float64, {3, 5}), whole(DType::int32, {2, 6});
  return {example({floats}, example_body("affine", floats.dtype),
                  {.window = {1, 2}, .strides = {1, 2}, .pad_low = {0, 1}}),
          example({Type(DType::float32, {5})}, example_body("affine", DType::float32),
                  {.window = {3}, .pad_high = {1}, .base_dilation = {2}, .window_dilation = {2}}),
          example({whole, whole}, example_body("first_max", whole.dtype),
                  {.window = {1, 3}, .strides = {1, 1}, .pad_low = {0, -1}})};
}

}  // namespace

Value select_and_scatter(Value x, Value source, Value init, const ProgramPtr& select,
                         const ProgramPtr& scatter, const WindowDims& dims) {
  Builder& b = *x.builder;
  const std::int64_t count = x.shape().count();
  const DType place = count > 0x7fffffff ? DType::int64 : DType::int32;
  // A position of -1 means none: the accumulator before the first element.
  Builder body("selected");
  const Type number(x.dtype(), Shape{}), index(place, Shape{});
  Value kept = body.input(number), kept_at = body.input(index), next = body.input(number),
        next_at = body.input(index), zero = ops::scalar(body, place, 0);
  Value chosen = body.inline_program(*select, Values{kept, next})[0];
  Value keep = and_(ge(kept_at, zero), chosen);
  const ProgramPtr selected =
      body.finish(Values{ops::select(keep, kept, next), ops::select(keep, kept_at, next_at)});

  Value at = reshape(iota(b, place, Shape{count}, 0), x.shape());
  const Values found =
      reduce_window(Values{x, at}, Values{init, ops::scalar(b, place, -1)}, selected, dims);
  const std::int64_t sources = source.shape().count();
  const Values out = combine_at(Values{broadcast_in_dim(init, Shape{count}, {})},
                                reshape(found[1], Shape{sources}),
                                Values{reshape(source, Shape{sources})}, scatter);
  return reshape(out[0], x.shape());
}

void register_general_window(Registry& r) {
  Op op;
  op.name = "reduce_window";
  op.doc =
      "Folds the elements of each window of one array or of several of one shape, as reduce does; "
      "padding and holes do not count. Derivatives spell every element of "
      "the window out.";
  op.stablehlo = "reduce_window";
  op.attrs = window_attr_specs();
  op.attrs.insert(op.attrs.begin(), {"body", AttrKind::program, "of scalars"});
  op.outputs = -1;
  op.cheap = false;
  op.infer = general_window_infer;
  op.vary = vary_as_operands;
  spell(op, element_by_element);
  op.batch = general_window_batch;
  op.sharding = general_window_sharding;
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
    auto times = static_cast<double>(out[0].shape.count());
    for (std::int64_t w : attrs.ints("window")) times *= static_cast<double>(w);
    return body_cost(times, in, out, attrs);
  };
  op.evaluate = general_window_evaluate;
  op.emit = general_window_emit;
  op.waived = {{"transpose", "its derivative is spelled out"},
               {"updates", "what is gathered from a window is no element of a state"}};
  op.examples = general_window_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
