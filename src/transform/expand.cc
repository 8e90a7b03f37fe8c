#include "transform/expand.h"

#include "ir/builder.h"
#include "ir/op.h"
#include "transform/at_equation.h"
#include "transform/autodiff.h"
#include "transform/map_nested.h"

namespace tessera::inline v0 {

namespace {

bool inlined(const Equation& eqn) {
  if (eqn.op->lowering != Lowering::expanded) return false;
  const AttrValue* body = eqn.attrs.find("body");
  return body && std::holds_alternative<ProgramPtr>(*body);
}

Values inline_expanded(Builder& b, const Program& p, std::span<const Value> inputs) {
  std::vector<Value> env(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) env[p.inputs[i]] = inputs[i];
  Values in;
  for (const Equation& eqn : p.equations) {
    in.clear();
    for (Var v : eqn.inputs) in.push_back(env[v]);
    AtEquation at(b, eqn);
    bool changed = false;
    Values out = inlined(eqn) ? inline_expanded(b, *eqn.attrs.program("body"), in)
                              : b.emit(*eqn.op, in, map_nested(eqn.attrs, expand, changed));
    for (std::size_t i = 0; i < out.size(); ++i) env[eqn.outputs[i]] = out[i];
  }
  Values outputs;
  for (Var v : p.outputs) outputs.push_back(env[v]);
  return outputs;
}

bool needs_expansion(const Program& p) {
  for (const Equation& eqn : p.equations) {
    if (inlined(eqn)) return true;
    for (const auto& [name, value] : eqn.attrs) {
      if (const auto* q = std::get_if<ProgramPtr>(&value); q && *q && needs_expansion(**q))
        return true;
      if (const auto* qs = std::get_if<Programs>(&value))
        for (const ProgramPtr& q : *qs)
          if (needs_expansion(*q)) return true;
    }
  }
  return false;
}

}  // namespace

ProgramPtr expand(const ProgramPtr& p) {
  require_forward_mode(*p);
  if (!needs_expansion(*p)) return p;
  Builder b(p->name);
  Values inputs;
  for (Var v : p->inputs) inputs.push_back(b.input(p->types[v]));
  return b.finish(inline_expanded(b, *p, inputs));
}

}  // namespace tessera::inline v0
