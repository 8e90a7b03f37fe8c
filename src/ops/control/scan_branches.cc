// Hoists computations on a loop's constants out of branches in its body.
//
// A residual of a branch is one of its results, so a loop-invariant residual, such as a weight that
// is transposed or converted in the branch, would be stacked once per iteration. It is therefore
// computed in the body, before the branch, where it is recognised as loop-invariant.
#include "ir/nested.h"
#include "ops/control/scan_rules.h"

#include <algorithm>

namespace tessera::inline v0::ops {

namespace {

// For each variable, whether it depends on a marked input.
std::vector<bool> depending(const Program& p, const std::vector<bool>& inputs) {
  std::vector<bool> on(p.types.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i) on[p.inputs[i]] = inputs[i];
  for (const Equation& eqn : p.equations)
    if (std::any_of(eqn.inputs.begin(), eqn.inputs.end(), [&](Var v) { return on[v]; }))
      for (Var v : eqn.outputs) on[v] = true;
  return on;
}

bool is_computed_anywhere(const Equation& eqn) {
  return !eqn.inputs.empty() && !eqn.op->barrier && !has_effects(eqn) &&
         (eqn.op->lowering == Lowering::emitted || eqn.op->lowering == Lowering::called);
}

// For each variable of a branch, whether it depends on constants alone. For each equation, whether
// it is hoisted: if its results, or values computed from them and constants, are read together with
// unknown values.
struct Constants {
  std::vector<bool> fixed, moved;
  std::vector<Var> needed;  // variables of the branch that hoisted equations provide
};
Constants constants_of(const Program& branch, const std::vector<bool>& constant,
                       const std::vector<bool>& unknown) {
  Constants c;
  c.fixed.resize(branch.types.size());
  c.moved.resize(branch.equations.size());
  for (std::size_t i = 0; i < branch.inputs.size(); ++i) c.fixed[branch.inputs[i]] = constant[i];
  const std::vector<bool> waits = depending(branch, unknown);
  std::vector<std::size_t> maker(branch.types.size(), branch.equations.size());
  for (std::size_t k = 0; k < branch.equations.size(); ++k) {
    const Equation& eqn = branch.equations[k];
    const auto holds = [&](const std::vector<bool>& of) { return [&](Var v) { return of[v]; }; };
    if (is_computed_anywhere(eqn) &&
        std::all_of(eqn.inputs.begin(), eqn.inputs.end(), holds(c.fixed))) {
      for (Var v : eqn.outputs) {
        c.fixed[v] = true;
        maker[v] = k;
      }
    } else if (std::any_of(eqn.inputs.begin(), eqn.inputs.end(), holds(waits))) {
      for (Var v : eqn.inputs)
        if (c.fixed[v] && maker[v] < branch.equations.size() &&
            std::find(c.needed.begin(), c.needed.end(), v) == c.needed.end()) {
          c.needed.push_back(v);
          c.moved[maker[v]] = true;
        }
    }
  }
  for (std::size_t k = branch.equations.size(); k-- > 0;)
    if (c.moved[k])
      for (Var v : branch.equations[k].inputs)
        if (maker[v] < branch.equations.size()) c.moved[maker[v]] = true;
  return c;
}

}  // namespace

ProgramPtr constants_out_of_branches(const ProgramPtr& body, std::size_t consts,
                                     const std::vector<bool>& unknown) {
  const Program& p = *body;
  const std::vector<bool> waits = depending(p, unknown);
  std::vector<bool> varies(p.inputs.size());
  for (std::size_t i = 0; i < varies.size(); ++i) varies[i] = i >= consts || unknown[i];
  const std::vector<bool> changes = depending(p, varies);

  auto q = std::make_shared<Program>(p);
  q->equations.clear();
  bool any = false;
  for (const Equation& eqn : p.equations) {
    std::optional<Flow> flow = flow_of(eqn);
    if (!flow || flow->kind != Flow::Kind::branch || !eqn.op->with_flow) {
      q->equations.push_back(eqn);
      continue;
    }
    std::vector<bool> constant, tangent;
    for (std::size_t i = 1; i < eqn.inputs.size(); ++i) {
      constant.push_back(!changes[eqn.inputs[i]]);
      tangent.push_back(waits[eqn.inputs[i]]);
    }
    Equation chosen = eqn;
    std::vector<Type> added;  // additional operands of all branches
    Programs branches;
    for (const ProgramPtr& branch : flow->programs) {
      const Constants c = constants_of(*branch, constant, tangent);
      std::vector<Var> outside(branch->types.size());
      for (std::size_t i = 0; i < branch->inputs.size(); ++i)
        outside[branch->inputs[i]] = eqn.inputs[i + 1];
      for (std::size_t k = 0; k < c.moved.size(); ++k) {
        if (!c.moved[k]) continue;
        Equation e = branch->equations[k];
        for (Var& v : e.inputs) v = outside[v];
        for (Var& v : e.outputs) {
          q->types.push_back(branch->types[v]);
          v = outside[v] = static_cast<Var>(q->types.size() - 1);
        }
        q->equations.push_back(std::move(e));
      }
      auto inside = std::make_shared<Program>(*branch);
      std::vector<Var> is(inside->types.size());
      for (Var v = 0; v < is.size(); ++v) is[v] = v;
      const auto input = [&](const Type& type) {
        inside->types.push_back(type);
        inside->inputs.push_back(static_cast<Var>(inside->types.size() - 1));
        return inside->inputs.back();
      };
      for (const Type& type : added) input(type);
      for (Var v : c.needed) {
        added.push_back(branch->types[v]);
        is[v] = input(added.back());
        chosen.inputs.push_back(outside[v]);
      }
      for (Equation& e : inside->equations)
        for (Var& v : e.inputs) v = is[v];
      for (Var& v : inside->outputs) v = is[v];
      branches.push_back(std::move(inside));
    }
    if (added.empty()) {
      q->equations.push_back(eqn);
      continue;
    }
    any = true;
    for (ProgramPtr& branch : branches) {
      auto all = std::make_shared<Program>(*branch);
      for (std::size_t i = all->inputs.size(); i + 1 < chosen.inputs.size(); ++i) {
        all->types.push_back(added[i + 1 - eqn.inputs.size()]);
        all->inputs.push_back(static_cast<Var>(all->types.size() - 1));
      }
      branch = prune(*all);
    }
    flow->programs = std::move(branches);
    chosen.attrs = eqn.op->with_flow(eqn.attrs, *flow);
    q->equations.push_back(std::move(chosen));
  }
  return any ? ProgramPtr(q) : body;
}

}  // namespace tessera::inline v0::ops
