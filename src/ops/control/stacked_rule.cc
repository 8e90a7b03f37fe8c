#include "ops/control/stacked_rule.h"

#include "ir/interpret.h"
#include "ops/control/nested.h"

namespace tessera::inline v0::ops {

std::vector<Type> Stacking::lane(std::vector<Type> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (dims[i] != kUnbatched) inputs[i].shape.erase(inputs[i].shape.begin() + dims[i]);
  return inputs;
}

Stacking stacking_of(const BatchArgs& a) {
  return {a.attrs.get<HookPtr>("rule"), {a.dims.begin(), a.dims.end()}, a.size, a.axis_name};
}

BatchResult mapped_call(const BatchArgs& a, HookPtr rule) {
  const Program& body = *a.attrs.program("body");
  BatchProgram batched = batch_program(body, {a.dims.begin(), a.dims.end()}, a.size, a.axis_name,
                                       std::vector<bool>(body.outputs.size(), true));
  BatchResult r;
  r.outputs =
      a.b.emit(a.op, a.inputs, {{"body", std::move(batched.program)}, {"rule", std::move(rule)}});
  r.dims.assign(r.outputs.size(), 0);
  return r;
}

Op custom_call_op(std::string name, std::string doc, std::string_view rule) {
  Op op = body_op(std::move(name), std::move(doc));
  op.attrs = {{"body", AttrKind::program, "the function"}, {"rule", AttrKind::hook, rule}};
  op.waived["jvp"] = "the rule is user code: jvp_both";
  return op;
}

}  // namespace tessera::inline v0::ops
