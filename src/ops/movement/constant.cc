// constant: a small dense array stored in the program itself.
#include "ir/op.h"
#include "ops/build.h"
#include "ops/factors.h"

#include <cstring>

namespace tessera::inline v0::ops {

Value constant(Builder& b, Literal literal) {
  return b.emit1("constant", std::span<const Value>{}, {{"value", std::move(literal)}});
}

Value scalar(Builder& b, DType dtype, double value, bool weak) {
  Attrs attrs{{"value", scalar_literal(dtype, value)}};
  if (weak) attrs.set("weak", true);
  return b.emit1("constant", std::span<const Value>{}, std::move(attrs));
}

Value full(Builder& b, DType dtype, const Shape& shape, double value) {
  return broadcast_in_dim(scalar(b, dtype, value), shape, {});
}
Value full_like(Value x, double value) {
  Builder& b = *x.builder;
  return broadcast_in_dim(scalar(b, x.dtype(), value, x.type().weak), x.shape(), {});
}
Value zeros_like(Value x) { return full_like(x, 0); }
Value zeros(Builder& b, const Type& type) {
  return broadcast_in_dim(scalar(b, type.dtype, 0, type.weak), type.shape, {});
}

void register_constant(Registry& r) {
  Op op;
  op.name = "constant";
  op.doc = "The array `value`, row-major; weak where `weak` is set.";
  op.stablehlo = "constant";
  op.attrs = {{"value", AttrKind::literal, "the array"},
              {"weak", AttrKind::boolean, "optional: a bare C++ number"}};
  op.inputs = 0;
  op.fuse = fuses_as(FuseRole::free);
  op.literal = [](const Attrs& attrs) { return &attrs.get<Literal>("value"); };
  op.infer = [](const InferArgs& a) {
    const Literal& v = a.attrs.get<Literal>("value");
    return std::vector<Type>{Type(v.dtype, v.shape, a.attrs.has("weak") && a.attrs.flag("weak"))};
  };
  op.jvp = [](const JvpArgs&) { return MaybeValues{std::nullopt}; };
  op.sharding = [](const ShardArgs& a) { return pointwise_rule(a.outputs[0].shape, 0, 1); };
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs&) { return Cost{}; };
  op.evaluate = [](const EvalArgs& a) {
    const Literal& v = a.attrs.get<Literal>("value");
    if (!v.bytes->empty()) std::memcpy(a.outputs[0].bytes, v.bytes->data(), v.bytes->size());
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    return e.literal(eqn.attrs.get<Literal>("value"), at);
  };
  op.waived = {{"transpose", "it has no operands"}, {"batch", "it has no operands"}};
  op.examples = [] {
    return std::vector<OpExample>{{{}, {{"value", scalar_literal(DType::float32, 2.5)}}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
