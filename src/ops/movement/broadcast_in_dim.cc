// broadcast_in_dim: repeats an array along new dimensions and along those of extent one.
#include "ops/factors.h"
#include "ops/local.h"
#include "ops/movement/movement.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Value broadcast_in_dim(Value x, const Shape& shape, const Ints& dims) {
  if (x.shape() == shape && dims == iota_ints(x.rank())) return x;
  return x.builder->emit1("broadcast_in_dim", {x}, {{"shape", to_ints(shape)}, {"dims", dims}});
}

namespace {

std::vector<Type> broadcast_in_dim_infer(const InferArgs& a) {
  const Shape& x = a.inputs[0].shape;
  Shape shape = to_shape(a.attrs.ints("shape"));
  const Ints& dims = a.attrs.ints("dims");
  for (std::int64_t d : shape)
    if (d < 0)
      Message(a.op.name)
          .problem("shape " + tessera::to_string(shape) + " has a negative extent")
          .rule("extents are 0 or more")
          .from(a.loc)
          .advice("check the arithmetic that gave " + std::to_string(d))
          .raise<ShapeError>();
  check_one_a_dim(a, "dims", dims, x);
  check_dims(a, "dims", dims, shape);
  Message message(a.op.name);
  bool bad = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::int64_t to = shape[static_cast<std::size_t>(dims[i])];
    if (x[i] == to || x[i] == 1) continue;
    bad = true;
    message.offender("operand dimension " + std::to_string(i) + " has extent " +
                     std::to_string(x[i]) + ", result dimension " + std::to_string(dims[i]) +
                     " has " + std::to_string(to));
  }
  if (bad)
    message
        .problem("shape " + tessera::to_string(x) + " does not broadcast to " +
                 tessera::to_string(shape) + " with dims " + to_string(dims))
        .rule("an operand dimension has extent 1 or that of the result dimension it goes to")
        .from(a.loc)
        .advice("map the dimension elsewhere, or reshape the operand first")
        .raise<ShapeError>();
  return {with_shape(a.inputs[0], shape)};
}

/// Sums over the repeated dimensions, then restores the operand's order of dimensions.
MaybeValues broadcast_in_dim_transpose(const TransposeArgs& a) {
  if (!a.cotangents[0]) return MaybeValues(1);
  Value ct = *a.cotangents[0];
  const Shape& x = a.types[0].shape;
  const Ints& dims = a.attrs.ints("dims");
  Ints sum;
  for (int d = 0; d < ct.rank(); ++d) {
    auto i = std::find(dims.begin(), dims.end(), d);
    if (i == dims.end() || (x[static_cast<std::size_t>(i - dims.begin())] == 1 &&
                            ct.shape()[static_cast<std::size_t>(d)] != 1))
      sum.push_back(d);
  }
  ct = reduce_sum(ct, sum);
  // The remaining dimensions are the operand's kept ones, in the order of the result.
  std::vector<std::pair<std::int64_t, std::int64_t>> kept;  // (result dim, operand dim)
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (!contains(sum, dims[i])) kept.emplace_back(dims[i], static_cast<std::int64_t>(i));
  std::sort(kept.begin(), kept.end());
  Ints permutation(kept.size());
  for (std::size_t k = 0; k < kept.size(); ++k) {
    std::int64_t rank = 0;
    for (const auto& other : kept) rank += other.second < kept[k].second;
    permutation[static_cast<std::size_t>(rank)] = static_cast<std::int64_t>(k);
  }
  return {reshape(transpose(ct, permutation), x)};
}

BatchResult broadcast_in_dim_batch(const BatchArgs& a) {
  Ints shape = inserted(a.attrs.ints("shape"), 0, a.size);
  Ints dims = a.attrs.ints("dims");
  for (std::int64_t& d : dims) ++d;
  dims.insert(dims.begin() + a.dims[0], 0);
  return {{broadcast_in_dim(a.inputs[0], to_shape(shape), dims)}, {0}};
}

FactorRule broadcast_in_dim_sharding(const ShardArgs& a) {
  FactorRule rule;
  const Shape& x = a.inputs[0].shape;
  std::vector<int> out = rule.factors(a.outputs[0].shape);
  std::vector<int> in;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto d = static_cast<std::size_t>(a.attrs.ints("dims")[i]);
    in.push_back(x[i] == a.outputs[0].shape[d] ? out[d] : rule.factor(1));
  }
  rule.input(in);
  rule.output(out);
  return rule;
}

}  // namespace

void register_broadcast_in_dim(Registry& r) {
  Op op;
  op.name = "broadcast_in_dim";
  op.doc =
      "Repeats the operand to `shape`: operand dimension i becomes result dimension dims[i], and "
      "is repeated where it has "
      "extent 1; result dimensions that no operand dimension goes to are new.";
  op.stablehlo = "broadcast_in_dim";
  op.attrs = {{"shape", AttrKind::ints, "of the result"},
              {"dims", AttrKind::ints, "for every operand dimension, a distinct result dimension"}};
  op.inputs = 1;
  op.fuse = fuses_as(FuseRole::free);
  op.spreads = [](const Attrs& attrs) -> const Ints& { return attrs.ints("dims"); };
  op.infer = broadcast_in_dim_infer;
  op.jvp = linear_jvp();
  op.transpose = broadcast_in_dim_transpose;
  op.batch = broadcast_in_dim_batch;
  op.exact = true;
  op.rearranges = true;
  op.recomputed = true;
  op.sharding = broadcast_in_dim_sharding;
  op.local = with_local_attrs([](const LocalArgs& a) -> Attrs {
    return {{"shape", to_ints(a.outputs[0])}, {"dims", a.attrs.ints("dims")}};
  });
  op.waived["updates"] = "copies of a state are no state";
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    const HostArray& x = a.inputs[0];
    Shape strides = x.shape.strides();
    const Ints& dims = a.attrs.ints("dims");
    copy_elements(x, a.outputs[0], [&](const Shape& index) {
      std::int64_t flat = 0;
      for (std::size_t i = 0; i < dims.size(); ++i)
        if (x.shape[i] != 1) flat += index[static_cast<std::size_t>(dims[i])] * strides[i];
      return flat;
    });
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    const Ints& dims = eqn.attrs.ints("dims");
    const Shape& x = e.operand_type(0).shape;
    std::vector<Index> from;
    for (std::size_t i = 0; i < dims.size(); ++i)
      from.push_back(x[i] == 1 ? Index(0) : at[static_cast<std::size_t>(dims[i])]);
    return e.operand(0, from);
  };
  op.examples = [] {
    return std::vector<OpExample>{
        {{Type(DType::float32, {})}, {{"shape", Ints{3}}, {"dims", Ints{}}}},
        {{Type(DType::float32, {4})}, {{"shape", Ints{2, 4}}, {"dims", Ints{1}}}},
        {{Type(DType::float64, {1, 4})}, {{"shape", Ints{3, 4}}, {"dims", Ints{0, 1}}}},
        {{Type(DType::float32, {2, 3})}, {{"shape", Ints{3, 4, 2}}, {"dims", Ints{2, 0}}}},
        {{Type(DType::int8, {2, 1})}, {{"shape", Ints{2, 5, 3}}, {"dims", Ints{0, 2}}}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
