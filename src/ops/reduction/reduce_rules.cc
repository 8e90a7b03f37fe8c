#include "ops/reduction/reduce.h"

#include "ops/factors.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Ints kept_dims(int rank, const Ints& axes) {
  Ints kept;
  for (int i = 0; i < rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(i);
  return kept;
}

Value reduce_over(std::string_view op, Value x, Ints axes) {
  if (axes.empty()) return x;
  std::sort(axes.begin(), axes.end());
  return x.builder->emit1(op, {x}, {{"axes", std::move(axes)}});
}

Shape result_strides(const EvalArgs& a) {
  const Shape& shape = a.inputs[0].shape;
  const Ints kept = kept_dims(shape.rank(), a.attrs.ints("axes"));
  Shape out_strides = a.outputs[0].shape.strides(), strides;
  strides.resize(shape.size(), 0);
  for (std::size_t i = 0; i < kept.size(); ++i)
    strides[static_cast<std::size_t>(kept[i])] = out_strides[i];
  return strides;
}

Value unreduce(Value reduced, const Shape& shape, const Ints& axes) {
  return broadcast_in_dim(reduced, shape, kept_dims(shape.rank(), axes));
}

Value reduced_last(Value x, const Ints& axes) {
  Ints kept = kept_dims(x.rank(), axes), permutation = kept;
  permutation.insert(permutation.end(), axes.begin(), axes.end());
  Shape shape;
  for (auto d : kept) shape.push_back(x.shape()[static_cast<std::size_t>(d)]);
  std::int64_t reduced = 1;
  for (auto d : axes) reduced *= x.shape()[static_cast<std::size_t>(d)];
  shape.push_back(reduced);
  return reshape(transpose(x, permutation), shape);
}

void check_axes(const InferArgs& a, const Type& x, const Ints& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    bool in_range = axes[i] >= 0 && axes[i] < x.shape.rank();
    if (in_range && (i == 0 || axes[i] > axes[i - 1])) continue;
    Message(a.op.name)
        .problem("axis " + std::to_string(axes[i]) +
                 (in_range ? " comes twice or out of order" : " is not one of the operand's") +
                 "; its shape is " + to_string(x.shape))
        .rule("axes are sorted, distinct and in [0, " + std::to_string(x.shape.rank()) + ")")
        .from(a.loc)
        .advice("name each axis to reduce once")
        .raise<ShapeError>();
  }
}

namespace {

std::vector<Type> reduction_infer(const InferArgs& a, Accepts what) {
  const Type& x = a.inputs[0];
  check_dtypes(a, a.inputs, what);
  const Ints& axes = a.attrs.ints("axes");
  check_axes(a, x, axes);
  Shape shape;
  for (auto d : kept_dims(x.shape.rank(), axes))
    shape.push_back(x.shape[static_cast<std::size_t>(d)]);
  return {Type(x.dtype, shape, x.weak)};
}

BatchResult reduction_batch(const BatchArgs& a) {
  Ints axes = shifted_dims(a.attrs.ints("axes"), a.dims[0]);
  auto before = std::count_if(axes.begin(), axes.end(), [&](auto d) { return d < a.dims[0]; });
  return {{reduce_over(a.op.name, a.inputs[0], axes)}, {a.dims[0] - static_cast<int>(before)}};
}

FactorRule reduction_sharding(const ShardArgs& a, Combiner combiner) {
  FactorRule rule;
  std::vector<int> in = rule.factors(a.inputs[0].shape), out;
  for (auto d : kept_dims(a.inputs[0].shape.rank(), a.attrs.ints("axes")))
    out.push_back(in[static_cast<std::size_t>(d)]);
  rule.input(in);
  rule.output(out);
  for (auto d : a.attrs.ints("axes"))
    rule.mark(FactorRule::Kind::reduction, in[static_cast<std::size_t>(d)], combiner);
  return rule;
}

Lane emit_reduce(Emitter& e, const Equation& eqn, std::span<const Index> at,
                 const ReduceEmit& how) {
  const Ints& axes = eqn.attrs.ints("axes");
  const Type& x = e.operand_type(0);
  DType acc = how.wide && (x.dtype == DType::float16 || x.dtype == DType::bfloat16) ? DType::float32
                                                                                    : x.dtype;
  Ints kept = kept_dims(x.shape.rank(), axes), extents;
  for (auto d : axes) extents.push_back(x.shape[static_cast<std::size_t>(d)]);
  std::vector<Index> index(x.shape.size());
  for (std::size_t i = 0; i < kept.size(); ++i) index[static_cast<std::size_t>(kept[i])] = at[i];

  auto element = [&e, index, axes, acc, dtype = x.dtype](std::span<const Index> inner) mutable {
    for (std::size_t i = 0; i < axes.size(); ++i)
      index[static_cast<std::size_t>(axes[i])] = inner[i];
    Lane v = e.operand(0, index);
    return acc == dtype ? v : e.convert(v, acc);
  };
  auto combine = [&e, op = how.combine](Lane a, Lane b) { return e.binary(op, a, b); };
  Lane result = e.reduce(extents, how.identity(e, acc), element, combine);
  return acc == x.dtype ? result : e.convert(result, x.dtype);
}

}  // namespace

Op reduction_op(std::string name, std::string doc, Accepts what, Combiner combiner,
                ReduceEmit how) {
  Op op;
  op.name = std::move(name);
  op.doc = std::move(doc);
  op.stablehlo = "reduce";
  op.attrs = {{"axes", AttrKind::ints, "dims to reduce, sorted"}};
  op.inputs = 1;
  op.cheap = false;
  op.infer = [what](const InferArgs& a) { return reduction_infer(a, what); };
  op.batch = reduction_batch;
  op.combiner = combiner;
  op.fuse = fuses_as(FuseRole::reduction);
  op.sharding = [combiner](const ShardArgs& a) { return reduction_sharding(a, combiner); };
  op.waived["updates"] = "what is gathered from many elements is no element of a state";
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs&) {
    return Cost{static_cast<double>(in[0].shape.count()),
                static_cast<double>(in[0].bytes() + out[0].bytes())};
  };
  op.emit = [how = std::move(how)](Emitter& e, const Equation& eqn, int,
                                   std::span<const Index> at) {
    return emit_reduce(e, eqn, at, how);
  };
  op.examples = [what] {
    std::vector<OpExample> examples;
    auto add = [&](DType d, Shape shape, Ints axes) {
      if (accepts(what, d))
        examples.push_back({{Type(d, std::move(shape))}, {{"axes", std::move(axes)}}});
    };
    add(DType::float32, {3, 5}, {1});
    add(DType::float32, {2, 3, 4}, {0, 2});
    add(DType::float32, {4}, {0});
    add(DType::bfloat16, {4, 7}, {0});
    add(DType::complex64, {3, 4}, {1});
    add(DType::complex128, {2, 3}, {0, 1});
    add(DType::int32, {3, 4}, {0, 1});
    add(DType::uint8, {2, 3}, {1});
    add(DType::boolean, {3, 4}, {0});
    return examples;
  };
  return op;
}

}  // namespace tessera::inline v0::ops
