// transpose: permutes dimensions.
#include "ops/factors.h"
#include "ops/movement/movement.h"
#include "ops/updates.h"

namespace tessera::inline v0::ops {

Value transpose(Value x, const Ints& permutation) {
  if (permutation == iota_ints(x.rank())) return x;
  return x.builder->emit1("transpose", {x}, {{"permutation", permutation}});
}

namespace {
Ints inverse(const Ints& permutation) {
  Ints out(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    out[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return out;
}

// Two consecutive transposes are one, or none.
Simplified transpose_simplify(const SimplifyArgs& a) {
  const Var x = a.eqn.inputs[0];
  const Ints& outer = a.eqn.attrs.ints("permutation");
  const Ints none = iota_ints(static_cast<int>(outer.size()));
  const Equation* inner = a.around.same_op(x);
  Simplified s;
  if (outer == none) s.same = x;
  if (!inner) return s;
  Ints both;
  for (std::int64_t d : outer)
    both.push_back(inner->attrs.ints("permutation")[static_cast<std::size_t>(d)]);
  s.operand = inner->inputs[0];
  if (!s.same && both == none) s.same = s.operand;
  s.attrs = a.eqn.attrs;
  s.attrs.set("permutation", std::move(both));
  return s;
}
}  // namespace

void register_transpose(Registry& r) {
  Op op;
  op.name = "transpose";
  op.doc =
      "The operand with its dimensions permuted: result dimension i is operand dimension "
      "permutation[i].";
  op.stablehlo = "transpose";
  op.attrs = {{"permutation", AttrKind::ints, "every operand dimension once"}};
  op.inputs = 1;
  op.fuse = fuses_as(FuseRole::movement);
  op.infer = [](const InferArgs& a) {
    const Shape& x = a.inputs[0].shape;
    const Ints& permutation = a.attrs.ints("permutation");
    check_one_a_dim(a, "permutation", permutation, x);
    check_dims(a, "permutation", permutation, x);
    Shape shape;
    for (std::int64_t d : permutation) shape.push_back(x[static_cast<std::size_t>(d)]);
    return std::vector<Type>{with_shape(a.inputs[0], shape)};
  };
  op.jvp = linear_jvp();
  op.transpose = [](const TransposeArgs& a) {
    if (!a.cotangents[0]) return MaybeValues(1);
    return MaybeValues{transpose(*a.cotangents[0], inverse(a.attrs.ints("permutation")))};
  };
  op.batch = [](const BatchArgs& a) {
    Ints permutation = inserted(shifted_dims(a.attrs.ints("permutation"), a.dims[0]), 0, a.dims[0]);
    return BatchResult{{transpose(a.inputs[0], permutation)}, {0}};
  };
  op.exact = true;
  op.rearranges = true;
  op.own_pass = true;
  op.simplify = transpose_simplify;
  op.sharding = [](const ShardArgs& a) {
    FactorRule rule;
    std::vector<int> in = rule.factors(a.inputs[0].shape);
    std::vector<int> out;
    for (std::int64_t d : a.attrs.ints("permutation"))
      out.push_back(in[static_cast<std::size_t>(d)]);
    rule.input(in);
    rule.output(out);
    return rule;
  };
  op.updates = updates_of({0});
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    Shape strides = a.inputs[0].shape.strides();
    Shape permuted;
    for (std::int64_t d : a.attrs.ints("permutation"))
      permuted.push_back(strides[static_cast<std::size_t>(d)]);
    copy_elements(a.inputs[0], a.outputs[0],
                  [&](const Shape& index) { return flat_index(index, permuted); });
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    const Ints& permutation = eqn.attrs.ints("permutation");
    std::vector<Index> from(permutation.size());
    for (std::size_t i = 0; i < permutation.size(); ++i)
      from[static_cast<std::size_t>(permutation[i])] = at[i];
    return e.operand(0, from);
  };
  op.examples = [] {
    return std::vector<OpExample>{
        {{Type(DType::float32, {2, 3})}, {{"permutation", Ints{1, 0}}}},
        {{Type(DType::float64, {2, 3, 5})}, {{"permutation", Ints{2, 0, 1}}}},
        {{Type(DType::bfloat16, {4, 1, 3})}, {{"permutation", Ints{0, 2, 1}}}},
        {{Type(DType::boolean, {2, 2})}, {{"permutation", Ints{1, 0}}}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
