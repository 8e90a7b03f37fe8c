#include "codegen/fuse/traits.h"

#include "codegen/kernel/kernel.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

namespace {

template <class Rule>
auto ask(const Rule& rule, const Program& p, const Equation& e) {
  std::vector<Type> inputs, outputs;
  for (Var v : e.inputs) inputs.push_back(p.type(v));
  for (Var v : e.outputs) outputs.push_back(p.type(v));
  return rule(TypedArgs{inputs, outputs, e.attrs});
}

}  // namespace

bool prefers_call(const Program& p, const Equation& e) {
  return e.op->prefers_call && ask(e.op->prefers_call, p, e);
}

bool takes_long(const Program& p, const Equation& e) {
  constexpr double kFunction = 10;  // operations, as counted by the ops' cost rules
  if (!e.op->elementwise || !e.op->cost) return false;
  std::vector<Type> inputs, outputs;
  for (Var v : e.inputs) inputs.push_back(p.type(v));
  for (Var v : e.outputs) outputs.push_back(p.type(v));
  const auto elements = static_cast<double>(outputs[0].shape.count());
  return e.op->cost(inputs, outputs, e.attrs).flops >= kFunction * elements;
}

FuseRole role_of(const Program& p, const Equation& e) {
  if (e.outputs.empty() || prefers_call(p, e)) return FuseRole::apart;
  if (e.op->fuse) return ask(e.op->fuse, p, e);
  if (!is_emitted(e)) return FuseRole::apart;
  return e.op->elementwise ? FuseRole::elementwise : FuseRole::window;
}

bool reduces_trailing(const Program& p, const Equation& e) {
  const Shape& in = p.type(e.inputs[0]).shape;
  const Ints& axes = e.attrs.ints("axes");
  auto reduced = [&](std::size_t d) {
    return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
  };
  bool started = false;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (in[d] == 1) continue;
    if (reduced(d))
      started = true;
    else if (started)
      return false;
  }
  return started;
}

}  // namespace tessera::inline v0::codegen
