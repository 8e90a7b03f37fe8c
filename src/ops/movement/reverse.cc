// reverse: mirrors dimensions.
#include "ops/factors.h"
#include "ops/fetch.h"
#include "ops/movement/movement.h"
#include "ops/updates.h"

namespace tessera::inline v0::ops {

Value reverse(Value x, const Ints& dims) {
  if (dims.empty()) return x;
  return x.builder->emit1("reverse", {x}, {{"dims", dims}});
}

namespace {

FactorRule::Window reverse_window(std::int64_t extent) {
  return {.extent = extent, .results = extent, .mirrored = true};
}

FactorRule reverse_sharding(const ShardArgs& a) {
  const Shape& x = a.inputs[0].shape;
  FactorRule rule;
  const std::vector<int> dims = rule.factors(x);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!contains(a.attrs.ints("dims"), static_cast<std::int64_t>(d))) continue;
    rule.mark(FactorRule::Kind::permutation, dims[d]);
    FactorRule::Window w = reverse_window(x[d]);
    w.factor = dims[d];
    rule.window(w);
  }
  rule.input(dims);
  rule.output(dims);
  return rule;
}

// Each device fetches the interval that is as far from the opposite end, and reverses it.
Values reverse_local(const LocalArgs& a) {
  Value part = a.inputs[0];
  for (std::int64_t d : a.attrs.ints("dims")) {
    const auto dim = static_cast<int>(d);
    const std::int64_t extent = a.whole_outputs[0].shape[dim];
    const Strings& axes = a.output_specs[0].axes_of(dim);
    if (a.outputs[0][dim] != extent)
      fetch_window(part, dim, reverse_window(extent), axes, a.parts(axes), Around::unread());
  }
  return {reverse(part, a.attrs.ints("dims"))};
}

}  // namespace

void register_reverse(Registry& r) {
  Op op;
  op.name = "reverse";
  op.doc = "The operand with the order of elements turned round along each of `dims`.";
  op.stablehlo = "reverse";
  op.attrs = {{"dims", AttrKind::ints, "distinct dimensions"}};
  op.inputs = 1;
  op.fuse = fuses_as(FuseRole::movement);
  op.infer = [](const InferArgs& a) {
    check_dims(a, "dims", a.attrs.ints("dims"), a.inputs[0].shape);
    return std::vector<Type>{with_shape(a.inputs[0], a.inputs[0].shape)};
  };
  op.jvp = linear_jvp();
  op.transpose = [](const TransposeArgs& a) {
    if (!a.cotangents[0]) return MaybeValues(1);
    return MaybeValues{reverse(*a.cotangents[0], a.attrs.ints("dims"))};
  };
  op.batch = [](const BatchArgs& a) {
    return BatchResult{{reverse(a.inputs[0], shifted_dims(a.attrs.ints("dims"), a.dims[0]))},
                       {a.dims[0]}};
  };
  op.simplify = [](const SimplifyArgs& a) {
    Simplified s;
    const Equation* inner = a.around.same_op(a.eqn.inputs[0]);
    if (inner && inner->attrs == a.eqn.attrs) s.same = inner->inputs[0];
    return s;
  };
  op.sharding = reverse_sharding;
  op.local = reverse_local;
  op.updates = updates_of({0});
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    const Shape& shape = a.inputs[0].shape;
    Shape strides = shape.strides();
    const Ints& dims = a.attrs.ints("dims");
    copy_elements(a.inputs[0], a.outputs[0], [&](Shape index) {
      for (std::int64_t d : dims) {
        auto k = static_cast<std::size_t>(d);
        index[k] = shape[k] - 1 - index[k];
      }
      return flat_index(index, strides);
    });
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    std::vector<Index> from(at.begin(), at.end());
    for (std::int64_t d : eqn.attrs.ints("dims")) {
      auto k = static_cast<std::size_t>(d);
      from[k] = Index(e.result_type().shape[k] - 1) - at[k];
    }
    return e.operand(0, from);
  };
  op.examples = [] {
    return std::vector<OpExample>{{{Type(DType::float32, {5})}, {{"dims", Ints{0}}}},
                                  {{Type(DType::float64, {2, 3})}, {{"dims", Ints{0, 1}}}},
                                  {{Type(DType::int32, {2, 3, 4})}, {{"dims", Ints{1}}}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
