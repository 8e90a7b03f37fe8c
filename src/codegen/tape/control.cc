#include "codegen/tape/lower.h"
#include "ir/nested.h"
#include "spmd/region/uniformity.h"

namespace tessera::inline v0::tape {

// A loop without collectives is a step like any other: each instance of its results runs it
// independently. If the bodies contain collectives, the instances run the loop together and the
// bodies' tapes run over all axes. The same holds for effects, which every device performs even if
// the results are equal on all of them.
void Lowerer::lower_control(const Equation& eqn, std::size_t i) {
  const Scope& scope = level_.scopes[static_cast<std::size_t>(level_.scope[i])];
  const Flow flow = *flow_of(eqn);
  Communication comm;
  for (const ProgramPtr& p : flow.programs) {
    Communication c = communication_of(*p, scope);
    comm.axes |= c.axes;
    comm.regions = comm.regions || c.regions;
  }
  Mask outer = 0, inner = 0, results = 0;
  for (Var v : eqn.outputs) results |= level_.mask[v];
  if (!comm.any() && !has_effects(eqn)) {
    outer = results;
  } else {
    inner = active(i);
    Mask predicate = 0;
    if (flow.kind == Flow::Kind::branch) predicate = level_.differs[eqn.inputs[0]];
    if (flow.kind == Flow::Kind::loop) {
      const Program& cond = *flow.condition();
      std::vector<AxisSet> in;
      for (std::size_t k = 0; k < flow.cond_consts; ++k)
        in.push_back(scope.names(level_.differs[eqn.inputs[k]]));
      for (Var v : eqn.outputs) in.push_back(scope.names(level_.differs[v]));
      predicate = scope.mask(spmd::uniformity(cond, in)[cond.outputs[0]]) & inner;
    }
    // Rows of the mesh that take their own decisions run one after the other. Within a row, the
    // executor checks that all devices take the same decision.
    if (!(predicate & comm.axes)) {
      outer = predicate;
      inner &= ~predicate;
    }
  }
  const Mask stored = outer;
  const WithinEquation within(ctx_, eqn);
  switch (flow.kind) {
    case Flow::Kind::branch: return lower_branches(eqn, flow, scope, outer, inner, stored);
    case Flow::Kind::scan: return lower_scan(eqn, flow, scope, outer, inner, stored);
    case Flow::Kind::loop: return lower_loop(eqn, flow, scope, outer, inner, stored);
    case Flow::Kind::call:
    case Flow::Kind::region: break;
  }
  throw InternalError("op '" + eqn.op->name + "' is not flat");
}

template <class Control>
void Lowerer::add_control(Step step, Control control, const Equation& eqn,
                          const std::vector<Lowered>& bodies) {
  step.name = in_scope(eqn, eqn.op->shown());
  step.loc = eqn.loc;
  for (const Lowered& b : bodies) {
    control.bodies.push_back(b.draft->tape);
    control.hidden += b.hidden.size();
    for (const auto& axes : b.hidden) step.inputs.push_back(axis_index(axes));
  }
  step.kind = std::move(control);
  step.scratch = Ref{slot(Space::arena, step.mask, 0)};
  const std::size_t added = add(std::move(step));
  wait_for_readers(eqn, added);
  keep_order(eqn, added);
}

void Lowerer::lower_scan(const Equation& eqn, const Flow& flow, const Scope& scope, Mask outer,
                         Mask inner, Mask stored) {
  const Program& body = *flow.body();
  const std::size_t consts = flow.consts, carries = flow.carry;
  Step step;
  step.mask = outer;
  step.inner = inner;
  ScanStep scan;
  scan.length = flow.length;
  scan.reverse = flow.reverse;
  scan.consts = consts;
  scan.carries = carries;
  Inputs in;
  std::vector<Mask> out;
  std::vector<int> ties = loop_ties(eqn, flow);
  for (std::size_t k = 0; k < eqn.inputs.size(); ++k) {
    const bool carry = k >= consts && k < consts + carries;
    // The first iteration reads the loop's initial value, the others read the body's result.
    in.mask.push_back(
        (level_.mask[eqn.inputs[k]] | (carry ? level_.mask[eqn.outputs[k - consts]] : 0)) & inner);
    in.differs.push_back(
        (level_.differs[eqn.inputs[k]] | (carry ? level_.differs[eqn.outputs[k - consts]] : 0)) &
        inner);
    step.inputs.push_back(dense(eqn.inputs[k]));
    if (k >= consts + carries) scan.rows.push_back(body.types[body.inputs[k]].bytes());
  }
  for (std::size_t k = 0; k < eqn.outputs.size(); ++k) {
    const Var v = eqn.outputs[k];
    const bool kept =
        k < carries && (scan.length == 0 || body.outputs[k] == body.inputs[consts + k]);
    if (k < carries) scan.kept.push_back(kept);
    const Mask m = level_.mask[v] & inner;
    out.push_back(kept ? kSkipped : m);
    if (kept) {
      ref_[v] = dense(eqn.inputs[consts + k]);
      in.mask[consts + k] = level_.mask[eqn.inputs[consts + k]] & inner;
      step.outputs.push_back(Ref{slot(Space::arena, stored | m, 0)});
    } else if (k < carries) {
      if (in.mask[consts + k] != m) ties[k] = -1;
      step.outputs.push_back(value_over(eqn, k, stored | m, step.inputs[consts + k]));
    } else {
      step.outputs.push_back(new_value(v, stored | m));
    }
    if (k < carries) {
      const std::int64_t bytes = kept || ties[k] >= 0 ? 0 : flat_.types[v].bytes();
      scan.spare.push_back(Ref{slot(Space::arena, stored | m, bytes, flat_.types[v].dtype)});
      scan.tied.push_back(ties[k] < 0 ? -1 : static_cast<int>(consts + k));
    } else
      scan.rows.push_back(body.types[body.outputs[k]].bytes());
  }
  Lowered l = lower(ctx_, body, in, &out, scope, inner, false, ties);
  add_control(std::move(step), std::move(scan), eqn, {l});
}

void Lowerer::lower_loop(const Equation& eqn, const Flow& flow, const Scope& scope, Mask outer,
                         Mask inner, Mask stored) {
  const Program &cond = *flow.condition(), &body = *flow.body();
  const std::size_t cond_consts = flow.cond_consts, consts = flow.consts, carries = flow.carry;
  Step step;
  step.mask = outer;
  step.inner = inner;
  WhileStep loop;
  loop.cond_consts = cond_consts;
  loop.consts = consts;
  loop.carries = carries;
  Inputs carry, cond_in, body_in;
  std::vector<Mask> out;
  const std::vector<int> ties = loop_ties(eqn, flow);
  for (std::size_t k = 0; k < eqn.inputs.size(); ++k) step.inputs.push_back(dense(eqn.inputs[k]));
  for (std::size_t k = 0; k < carries; ++k) {
    const Var v = eqn.outputs[k];
    const bool kept = body.outputs[k] == body.inputs[consts + k];
    loop.kept.push_back(kept);
    const Mask m =
        (kept ? level_.mask[eqn.inputs[cond_consts + consts + k]] : level_.mask[v]) & inner;
    carry.mask.push_back(m);
    carry.differs.push_back(level_.differs[v] & inner);
    out.push_back(kept ? kSkipped : m);
    if (kept) {
      ref_[v] = dense(eqn.inputs[cond_consts + consts + k]);
      step.outputs.push_back(Ref{slot(Space::arena, stored | m, 0)});
    } else {
      step.outputs.push_back(value_over(eqn, k, stored | m, step.inputs[cond_consts + consts + k]));
    }
    const std::int64_t bytes = kept || ties[k] >= 0 ? 0 : flat_.types[v].bytes();
    loop.spare.push_back(Ref{slot(Space::arena, stored | m, bytes, flat_.types[v].dtype)});
    loop.tied.push_back(ties[k] < 0 ? -1 : static_cast<int>(cond_consts + consts + k));
  }
  auto take = [&](Inputs& to, Var v) {
    to.mask.push_back(level_.mask[v] & inner);
    to.differs.push_back(level_.differs[v] & inner);
  };
  for (std::size_t k = 0; k < cond_consts; ++k) take(cond_in, eqn.inputs[k]);
  for (std::size_t k = 0; k < consts; ++k) take(body_in, eqn.inputs[cond_consts + k]);
  for (Inputs* in : {&cond_in, &body_in}) {
    in->mask.insert(in->mask.end(), carry.mask.begin(), carry.mask.end());
    in->differs.insert(in->differs.end(), carry.differs.begin(), carry.differs.end());
  }

  std::vector<AxisSet> sets;
  for (Mask m : cond_in.differs) sets.push_back(scope.names(m));
  Mask flag = scope.mask(spmd::uniformity(cond, sets)[cond.outputs[0]]) & inner;
  flag |= inner & scope.all() & ctx_.apart;
  loop.flag = Ref{slot(Space::arena, stored | flag, 1, DType::boolean)};
  std::vector<Mask> flags = {flag};
  Lowered c = lower(ctx_, cond, cond_in, &flags, scope, inner, false);
  Lowered b = lower(ctx_, body, body_in, &out, scope, inner, false, ties);
  add_control(std::move(step), std::move(loop), eqn, {c, b});
}

void Lowerer::lower_branches(const Equation& eqn, const Flow& flow, const Scope& scope, Mask outer,
                             Mask inner, Mask stored) {
  Step step;
  step.mask = outer;
  step.inner = inner;
  CondStep branches;
  Inputs in;
  std::vector<Mask> out;
  for (std::size_t k = 0; k < eqn.inputs.size(); ++k) {
    step.inputs.push_back(dense(eqn.inputs[k]));
    if (k == 0) continue;
    in.mask.push_back(level_.mask[eqn.inputs[k]] & inner);
    in.differs.push_back(level_.differs[eqn.inputs[k]] & inner);
  }
  std::vector<int> ties;
  for (std::size_t k = 0; k < eqn.outputs.size(); ++k) {
    const Var v = eqn.outputs[k];
    const Mask m = level_.mask[v] & inner;
    out.push_back(m);
    int j = takes(eqn, k);
    if (j > 0 && in.mask[static_cast<std::size_t>(j) - 1] == m) {
      step.outputs.push_back(
          value_over(eqn, k, stored | m, step.inputs[static_cast<std::size_t>(j)]));
    } else {
      j = -1;
      step.outputs.push_back(new_value(v, stored | m));
    }
    branches.tied.push_back(j);
    ties.push_back(j < 0 ? -1 : j - 1);
  }
  std::vector<Lowered> bodies;
  for (const ProgramPtr& p : flow.programs)
    bodies.push_back(lower(ctx_, *p, in, &out, scope, inner, false, ties));
  add_control(std::move(step), std::move(branches), eqn, bodies);
}

}  // namespace tessera::inline v0::tape
