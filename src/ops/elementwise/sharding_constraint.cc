// sharding_constraint: an identity that tells the partitioner the user's sharding of a value.
#include "ops/elementwise/elementwise.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Value sharding_constraint(Value x, const MeshRef& mesh, const Spec& spec, const Ints& open) {
  return x.builder->emit1("sharding_constraint", {x},
                          {{"mesh", mesh}, {"spec", spec}, {"open", open}});
}

namespace {

Constraint constraint_of(const Attrs& attrs) {
  return {attrs.get<MeshRef>("mesh"), attrs.get<Spec>("spec"), attrs.ints("open")};
}

[[noreturn]] void refuse(const InferArgs& a, std::string problem, std::string rule,
                         std::string advice) {
  Message m(a.op.name);
  m.problem(std::move(problem)).rule(std::move(rule)).from(a.loc).advice(std::move(advice));
  m.raise<ShardingError>();
}

std::vector<Type> sharding_constraint_infer(const InferArgs& a) {
  const Constraint c = constraint_of(a.attrs);
  const Type& x = a.inputs[0];
  const std::string spec = to_string(c.spec);
  if (static_cast<int>(c.spec.dims().size()) > x.shape.rank())
    refuse(a,
           spec + " has " + std::to_string(c.spec.dims().size()) + " entries for the value " +
               to_string(x),
           "a spec has at most one entry a dimension", "shorten the spec");
  AxisSet seen;
  for (const Spec::Axes& axes : c.spec.dims())
    for (const std::string& axis : axes) {
      if (c.mesh->find(axis) < 0) {
        std::string names;
        for (const std::string& n : c.mesh->axes) names += (names.empty() ? "'" : ", '") + n + "'";
        refuse(a, spec + " names '" + axis + "', which is no axis of the mesh",
               names.empty() ? "the mesh has no axes" : "the axes are " + names,
               "check the spelling");
      }
      if (seen.contains(axis))
        refuse(a, spec + " uses axis '" + axis + "' twice", "an axis cuts one dimension",
               "leave one of them out");
      seen.insert(axis);
    }
  for (std::size_t i = 0; i < c.open.size(); ++i)
    if (c.open[i] < 0 || c.open[i] >= x.shape.rank() || (i > 0 && c.open[i] <= c.open[i - 1]))
      throw InternalError("open dimension " + std::to_string(c.open[i]) + " of " + to_string(x) +
                          " is none, or out of order");
  return {x};
}

Value constrain_alike(Value x, const Attrs& attrs) {
  const Constraint c = constraint_of(attrs);
  return sharding_constraint(x, c.mesh, c.spec, c.open);
}

// vmap leaves the sharding of the stacked dimension open.
BatchResult sharding_constraint_batch(const BatchArgs& a) {
  Constraint c = constraint_of(a.attrs);
  const int d = a.dims[0];
  Spec::Dims dims = c.spec.dims();
  if (d < static_cast<int>(dims.size())) dims.insert(dims.begin() + d, Spec::Axes{});
  for (std::int64_t& k : c.open) k += k >= d;
  c.open.insert(std::lower_bound(c.open.begin(), c.open.end(), d), d);
  return {{sharding_constraint(a.inputs[0], c.mesh, Spec(std::move(dims)), c.open)}, {d}};
}

}  // namespace

void register_sharding_constraint(Registry& r) {
  Op op = elementwise_op(
      "sharding_constraint", "",
      "x, which shall lie on the mesh as `spec` says: a dimension is cut by the axes in its entry, "
      "and where it is in `open` by others behind them that propagation finds. A program that is "
      "not partitioned ignores it.",
      1, Accepts::any);
  op.attrs = {{"mesh", AttrKind::mesh, "named axes, devices along each, and the devices"},
              {"spec", AttrKind::spec, "for each dimension the axes that cut it, major first"},
              {"open", AttrKind::ints, "dimensions that may be cut further, sorted"}};
  op.lowering = Lowering::view;
  op.exact = true;
  op.infer = sharding_constraint_infer;
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    return {a.tangents[0] ? MaybeValue(constrain_alike(*a.tangents[0], a.attrs)) : std::nullopt};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    return {constrain_alike(*a.cotangents[0], a.attrs)};
  };
  op.batch = sharding_constraint_batch;
  op.constrains = constraint_of;
  forward_operand(op);
  op.waived = {{"stablehlo", "it has no shardings; they are another dialect's"}};
  op.examples = [] {
    const MeshRef mesh(DeviceMesh{{{"x", "y"}, {2, 3}}, {}});
    auto example = [&](DType dtype, Shape shape, Spec spec, Ints open) {
      return OpExample{{Type(dtype, std::move(shape))},
                       {{"mesh", mesh}, {"spec", std::move(spec)}, {"open", std::move(open)}}};
    };
    return std::vector<OpExample>{
        example(DType::float32, {4, 3}, Spec({{"x"}, {"y"}}), {}),
        example(DType::float64, {2, 6, 5}, Spec({{}, {"y", "x"}}), {0, 2}),
        example(DType::bfloat16, {7}, Spec(), {0}), example(DType::int32, {}, Spec(), {})};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
