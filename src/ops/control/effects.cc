#include "ops/control/effects.h"

#include "ir/builder.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

namespace {

[[noreturn]] void refuse(const Equation& eqn) {
  Message("vmap")
      .problem("a print or check inside of '" + eqn.op->shown() +
               "' stands in a branch that each member chooses by itself")
      .rule("mapped members run all branches, and what is printed in them has to be told apart")
      .from(eqn.loc)
      .advice("move the print out of '" + eqn.op->shown() + "'")
      .raise<TraceError>();
}

Values with_guard(Builder& b, const Equation& eqn, Values in, Value holds) {
  if (eqn.op->effect) {
    in[0] = and_(in[0], holds);
    return b.copy(eqn, in);
  }
  if (!eqn.op->with_flow || !eqn.op->flow) refuse(eqn);
  Flow f = eqn.op->flow(eqn.attrs);
  if (f.kind == Flow::Kind::region) refuse(eqn);
  const auto take = [&](std::size_t at) {
    in.insert(in.begin() + static_cast<std::ptrdiff_t>(at), holds);
  };
  for (ProgramPtr& p : f.programs) p = guarded(*p);
  if (f.kind == Flow::Kind::loop) {
    take(f.cond_consts++);
    take(f.cond_consts + f.consts++);
  } else if (f.kind == Flow::Kind::scan) {
    take(f.consts++);
  } else {
    take(f.kind == Flow::Kind::branch ? 1 : 0);  // after the index
  }
  Equation changed = eqn;
  changed.attrs = eqn.op->with_flow(eqn.attrs, f);
  return b.copy(changed, in);
}

}  // namespace

ProgramPtr guarded(const Program& p) {
  Builder b(p.name);
  const Value holds = b.input(Type(DType::boolean, {}));
  Values env(p.types.size()), in, out;
  for (Var v : p.inputs) env[v] = b.input(p.types[v]);
  for (const Equation& eqn : p.equations) {
    in.clear();
    for (Var v : eqn.inputs) in.push_back(env[v]);
    out = has_effects(eqn) ? with_guard(b, eqn, in, holds) : b.copy(eqn, in);
    for (std::size_t i = 0; i < out.size(); ++i) env[eqn.outputs[i]] = out[i];
  }
  out.clear();
  for (Var v : p.outputs) out.push_back(env[v]);
  return b.finish(out);
}

bool needs_effects(const Program& p) {
  std::vector<bool> effect(p.types.size());
  bool any = false;
  for (const Equation& eqn : p.equations) {
    for (Var v : eqn.inputs) any = any || effect[v];
    for (Var v : eqn.outputs) effect[v] = eqn.op->effect;
    any = any || needs_effects(eqn);
  }
  for (Var v : p.outputs) any = any || effect[v];
  return any;
}

bool needs_effects(const Equation& eqn) {
  return any_nested(eqn.attrs, [](const ProgramPtr& p) { return needs_effects(*p); });
}

ProgramPtr without_effects(const ProgramPtr& p) {
  if (!has_effects(*p)) return p;
  if (needs_effects(*p))
    Message("grad")
        .problem(
            "a call of the host, whose results are used, stands in a program that has to run "
            "a second time without its side effects")
        .rule("derivatives repeat parts of loops and branches, and side effects are not repeated")
        .from(p->equations[0].loc)
        .advice("use a pure host call, or move the call out of the loop or branch")
        .raise<TraceError>();
  auto q = std::make_shared<Program>(*p);
  std::erase_if(q->equations, [](const Equation& eqn) { return eqn.op->effect; });
  for (Equation& eqn : q->equations) eqn = without_effects(eqn);
  return q;
}

Equation without_effects(const Equation& eqn) {
  if (!eqn.op->with_flow || !has_effects(eqn)) return eqn;
  Equation changed = eqn;
  Flow f = eqn.op->flow(eqn.attrs);
  for (ProgramPtr& inside : f.programs) inside = without_effects(inside);
  changed.attrs = eqn.op->with_flow(eqn.attrs, f);
  return changed;
}

}  // namespace tessera::inline v0::ops
