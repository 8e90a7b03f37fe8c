// Identities that only transformations see: stop_gradient, optimization_barrier, checkpoint_name,
// shard_alike.
#include "ops/elementwise/elementwise.h"
#include "ops/updates.h"

#include <cstring>

namespace tessera::inline v0::ops {

Value stop_gradient(Value x) { return x.builder->emit1("stop_gradient", {x}); }
Value optimization_barrier(Value x) { return x.builder->emit1("optimization_barrier", {x}); }
Value checkpoint_name(Value x, std::string name) {
  return x.builder->emit1("checkpoint_name", {x}, {{"name", std::move(name)}});
}

Value shard_alike(Value x, Value y) { return x.builder->emit1("shard_alike", {x, y}); }

namespace {

// The rules by which a result is operand 0.
void give_first_operand(Op& op) {
  op.updates = updates_of({0});
  op.evaluate = [](const EvalArgs& a) {
    if (a.outputs[0].count())
      std::memcpy(a.outputs[0].bytes, a.inputs[0].bytes,
                  static_cast<std::size_t>(a.outputs[0].size_bytes()));
  };
  op.emit = [](Emitter& e, const Equation&, int, std::span<const Index> at) {
    return e.operand(0, at);
  };
}

}  // namespace

void forward_operand(Op& op) {
  give_first_operand(op);
  op.forwards = true;
  op.fuse = fuses_as(FuseRole::free);
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs&) { return Cost{}; };
}

namespace {

Op identity_op(std::string name, std::string stablehlo, std::string doc) {
  Op op = elementwise_op(std::move(name), std::move(stablehlo), std::move(doc), 1, Accepts::any);
  forward_operand(op);
  return op;
}

}  // namespace

void register_identity(Registry& r) {
  Op stop = identity_op("stop_gradient", "", "x, with a derivative of zero.");
  stop.jvp = no_tangent();
  stop.examples = [] {
    OpExample e;
    e.inputs = {Type(DType::float32, {2, 3})};
    e.no_numeric_derivative = "its derivative is zero by definition";
    return std::vector<OpExample>{e};
  };
  stop.waived = {{"stablehlo", "it means nothing once derivatives are taken"},
                 {"transpose", "its derivative is zero"}};

  // The tangent gets a separate barrier, so that its recomputation is not merged either.
  Op barrier =
      identity_op("optimization_barrier", "optimization_barrier",
                  "x; no simplification crosses it, so that what is computed again after it "
                  "is not merged with before.");
  barrier.barrier = true;
  barrier.jvp = [](const JvpArgs& a) -> MaybeValues {
    return {a.tangents[0] ? MaybeValue(optimization_barrier(*a.tangents[0])) : std::nullopt};
  };
  barrier.transpose = [](const TransposeArgs& a) -> MaybeValues {
    return {a.cotangents[0] ? MaybeValue(optimization_barrier(*a.cotangents[0])) : std::nullopt};
  };

  Op name = identity_op("checkpoint_name", "", "x, marked with `name` for the policies of remat.");
  name.attrs = {{"name", AttrKind::string, "what policies know the value by"}};
  name.label = [](const Attrs& attrs) { return &attrs.str("name"); };
  name.jvp = [](const JvpArgs& a) -> MaybeValues { return {a.tangents[0]}; };
  name.waived = {{"stablehlo", "it means nothing once derivatives are taken"},
                 {"transpose", "tangents pass it by, so no linear program holds one"}};
  name.examples = [] {
    return std::vector<OpExample>{{{Type(DType::float32, {2, 3})}, {{"name", std::string("h")}}},
                                  {{Type(DType::int32, {})}, {{"name", std::string("two words")}}}};
  };

  // An equation with both values is enough: propagation carries shardings through it in all
  // directions. Simplification, which runs after propagation, removes the equation.
  Op alike = elementwise_op(
      "shard_alike", "",
      "x, which shall lie as y does: propagation gives both the shardings of either.", 2,
      Accepts::any);
  give_first_operand(alike);
  alike.simplify = [](const SimplifyArgs& a) {
    Simplified s;
    s.same = a.eqn.inputs[0];
    return s;
  };
  alike.jvp = [](const JvpArgs& a) -> MaybeValues { return {a.tangents[0]}; };
  alike.waived = {{"stablehlo", "it has no shardings; they are another dialect's"},
                  {"transpose", "tangents pass it by, so no linear program holds one"}};
  add_all(r, stop, barrier, name, alike);
}

}  // namespace tessera::inline v0::ops
