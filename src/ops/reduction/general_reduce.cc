// reduce: a reduction over dimensions by a body.
#include "ops/factors.h"
#include "ops/reduction/general.h"
#include "ops/reduction/reduce.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Values reduce(std::span<const Value> xs, std::span<const Value> inits, const ProgramPtr& body,
              const Ints& axes) {
  Values in(xs.begin(), xs.end());
  in.insert(in.end(), inits.begin(), inits.end());
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  return xs[0].builder->emit("reduce", in, {{"body", body}, {"axes", sorted}});
}

namespace {

Shape kept_shape(const Shape& x, const Ints& axes) {
  Shape shape;
  for (auto d : kept_dims(x.rank(), axes)) shape.push_back(x[static_cast<std::size_t>(d)]);
  return shape;
}

std::vector<Type> general_reduce_infer(const InferArgs& a) {
  return infer_reduced(a, [&](const Type& x) {
    const Ints& axes = a.attrs.ints("axes");
    check_axes(a, x, axes);
    return kept_shape(x.shape, axes);
  });
}

// Every `step`th of the positions [from, to) of dimension 0.
Value strided_rows(Value x, std::int64_t from, std::int64_t to, std::int64_t step) {
  Ints start(x.shape().size(), 0), limit = x.shape().to_vector(), strides(x.shape().size(), 1);
  start[0] = from, limit[0] = to, strides[0] = step;
  return slice(x, start, limit, strides);
}

Values joined(std::span<const Value> a, std::span<const Value> b) {
  Values all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

// Uses ops that have derivatives: combines neighbours, then neighbouring results, so that the order
// is preserved.
Values in_a_tree(Builder& b, std::span<const Value> inputs, const Attrs& attrs) {
  const Program& body = *attrs.program("body");
  const Ints& axes = attrs.ints("axes");
  const auto [xs, inits] = reduced(inputs);
  const Shape result = kept_shape(xs[0].shape(), axes);
  Values parts, start;
  for (Value x : xs) {
    Value last = reduced_last(x, axes);
    Ints order{last.rank() - 1};
    for (int d = 0; d + 1 < last.rank(); ++d) order.push_back(d);
    parts.push_back(transpose(last, order));
  }
  for (Value init : inits)
    start.push_back(init.rank() == 0 ? broadcast_in_dim(init, result, {}) : init);
  std::int64_t n = parts[0].shape()[0];
  if (n == 0) return start;
  for (; n > 1; n = (n + 1) / 2) {
    Values left, right;
    for (Value x : parts)
      left.push_back(strided_rows(x, 0, n - n % 2, 2)), right.push_back(strided_rows(x, 1, n, 2));
    Values next = map_body(b, body, joined(left, right));
    if (n % 2)
      for (std::size_t i = 0; i < parts.size(); ++i)
        next[i] = concatenate(Values{next[i], strided_rows(parts[i], n - 1, n, 1)}, 0);
    parts = next;
  }
  for (Value& x : parts) x = reshape(x, result);
  return map_body(b, body, joined(start, parts));
}

BatchResult general_reduce_batch(const BatchArgs& a) {
  const std::size_t n = a.inputs.size() / 2;
  const bool stacked = a.dims[0] != kUnbatched;
  Shape x = a.inputs[0].shape();
  if (stacked) x.erase(x.begin() + a.dims[0]);
  const Values in = stacked_operands(a, kept_shape(x, a.attrs.ints("axes")));
  return {reduce(std::span(in).first(n), std::span(in).subspan(n), a.attrs.program("body"),
                 shifted_dims(a.attrs.ints("axes"), 0)),
          std::vector<int>(n, 0)};
}

FactorRule general_reduce_sharding(const ShardArgs& a) {
  FactorRule rule;
  const Ints& axes = a.attrs.ints("axes");
  std::vector<int> in = rule.factors(a.inputs[0].shape), out;
  for (auto d : kept_dims(a.inputs[0].shape.rank(), axes))
    out.push_back(in[static_cast<std::size_t>(d)]);
  factors_of_reduced(rule, a, in, out);
  for (auto d : axes) rule.mark(FactorRule::Kind::need_repl, in[static_cast<std::size_t>(d)]);
  return rule;
}

void general_reduce_evaluate(const EvalArgs& a) {
  const Ints& axes = a.attrs.ints("axes");
  const Shape &x = a.inputs[0].shape, strides = x.strides();
  const Ints kept = kept_dims(x.rank(), axes);
  Shape inner;
  for (auto d : axes) inner.push_back(x[static_cast<std::size_t>(d)]);
  evaluate_folds(a, [&](const Shape& o, FunctionRef<void(std::int64_t)> take) {
    std::int64_t base = 0;
    for (std::size_t k = 0; k < kept.size(); ++k)
      base += o[k] * strides[static_cast<std::size_t>(kept[k])];
    for_each_index(inner, [&](const Shape& k) {
      std::int64_t flat = base;
      for (std::size_t d = 0; d < axes.size(); ++d)
        flat += k[d] * strides[static_cast<std::size_t>(axes[d])];
      take(flat);
    });
  });
}

Lane general_reduce_emit(Emitter& e, const Equation& eqn, int result, std::span<const Index> at) {
  const ProgramPtr body = inlined_body(eqn.attrs.program("body"));
  const Ints& axes = eqn.attrs.ints("axes");
  const auto n = static_cast<int>(eqn.outputs.size());
  const Shape& x = e.operand_type(0).shape;
  const Ints kept = kept_dims(x.rank(), axes);
  std::vector<std::int64_t> extents;
  for (auto d : axes) extents.push_back(x[static_cast<std::size_t>(d)]);
  std::vector<Index> index(x.size());
  for (std::size_t i = 0; i < kept.size(); ++i) index[static_cast<std::size_t>(kept[i])] = at[i];
  auto step = [&e, body, index, &axes, n](std::span<const Index> inner,
                                          std::span<const Lane> acc) mutable {
    for (std::size_t d = 0; d < axes.size(); ++d)
      index[static_cast<std::size_t>(axes[d])] = inner[d];
    std::vector<Lane> in(acc.begin(), acc.end());
    for (int i = 0; i < n; ++i) in.push_back(e.operand(i, index));
    return emit_body(e, *body, in);
  };
  return e.fold(extents, initial_lanes(e, n, at), step).at(static_cast<std::size_t>(result));
}

std::vector<OpExample> general_reduce_examples() {
  auto example = [](std::vector<Type> in, const ProgramPtr& body, Ints axes) {
    const std::size_t n = in.size();
    for (std::size_t i = 0; i < n; ++i) in.emplace_back(in[i].dtype, Shape{});
    return OpExample{std::move(in), {{"body", body}, {"axes", std::move(axes)}}};
  };
  const Type floats(DType::float64, {3, 5}), whole(DType::int32, {2, 4, 3});
  return {example({floats}, example_body("affine", floats.dtype), {1}),
          example({floats}, example_body("affine", floats.dtype), {0, 1}),
          example({whole}, example_body("affine", whole.dtype), {0, 2}),
          example({whole, whole}, example_body("first_max", whole.dtype), {1})};
}

}  // namespace

void register_general_reduce(Registry& r) {
  Op op;
  op.name = "reduce";
  op.doc =
      "Folds the elements of one array or several of one shape over `axes` by a body of two: "
      "(accumulators..., elements...) gives the next accumulators. The folds begin with the inits, "
      "scalars or arrays of the results' shape, and go in row-major order; derivatives take the "
      "body to be associative. Operands: the arrays, then their inits.";
  op.stablehlo = "reduce";
  op.attrs = {{"body", AttrKind::program, "of scalars"},
              {"axes", AttrKind::ints, "dims to reduce, sorted"}};
  op.outputs = -1;
  op.cheap = false;
  op.infer = general_reduce_infer;
  op.vary = vary_as_operands;
  spell(op, in_a_tree);
  op.batch = general_reduce_batch;
  op.sharding = general_reduce_sharding;
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
    return body_cost(static_cast<double>(in[0].shape.count()), in, out, attrs);
  };
  op.evaluate = general_reduce_evaluate;
  op.emit = general_reduce_emit;
  op.waived = {{"transpose", "its derivative is spelled out"},
               {"updates", "what is gathered from many elements is no element of a state"}};
  op.examples = general_reduce_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
