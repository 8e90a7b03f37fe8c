// pvary: the cast of a typed shard_map from "equal on all devices" to "may differ".
#include "ops/collective/collective.h"
#include "ops/updates.h"

#include <algorithm>

namespace tessera::inline v0::ops {

using namespace collective;

Value pvary(Value x, const Strings& axes) {
  AxisSet all;
  for (const auto& n : axes) all.insert(n);
  return x.builder->vary_over(x, all);
}

void register_pvary(Registry& r) {
  Op op = make("pvary",
               "x, typed as varying over the axes. Nothing moves; its transpose is psum_invariant: "
               "the cotangents of a value that "
               "all devices share are added up.",
               "", {}, false);
  std::erase_if(op.attrs, [](const AttrSpec& s) { return s.name == CollectiveAttrs::kSize; });
  op.cheap = true;
  op.elementwise = true;
  op.lowering = Lowering::view;
  op.forwards = true;
  op.fuse = fuses_as(FuseRole::free);
  op.infer = [](const InferArgs& a) {
    for (const auto& n : CollectiveAttrs(a.attrs).axes)
      if (a.inputs[0].varying.contains(n))
        Message("pvary")
            .problem("the operand " + to_string(a.inputs[0]) + " already varies over '" + n + "'")
            .from(a.loc)
            .advice("name only axes over which the value is the same on all devices")
            .raise<CollectiveError>();
    return std::vector<Type>{a.inputs[0]};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    const auto& axes = CollectiveAttrs(a.attrs).axes;
    return {psum_invariant(pvary(*a.cotangents[0], axes),
                           axes)};  // an explicit zero may be typed invariant
  };
  op.batch = [](const BatchArgs& a) -> BatchResult {
    Mapped m = mapped(a, false);
    if (!m.is) return pass_through(a);
    return {{pvary(a.inputs[0], m.rest)}, {a.dims[0]}};
  };
  op.vary = adds_axes();
  op.uniform = [](const VaryArgs& a) { return std::vector<AxisSet>{a.inputs[0]}; };
  op.updates = updates_of({0});
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs&) { return Cost{}; };
  op.evaluate = [](const EvalArgs& a) {
    std::copy_n(a.inputs[0].bytes, a.inputs[0].size_bytes(), a.outputs[0].bytes);
  };
  op.emit = [](Emitter& e, const Equation&, int, std::span<const Index> at) {
    return e.operand(0, at);
  };
  op.waived = {{"stablehlo", "types there carry no axes"}};
  op.examples = [] {
    return std::vector<OpExample>{{{Type(f32, {3})}, CollectiveAttrs::make({"i"})}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
