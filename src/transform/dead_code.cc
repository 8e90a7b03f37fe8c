#include "transform/dead_code.h"

#include "ir/builder.h"
#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>
#include <optional>

namespace tessera::inline v0 {

std::vector<bool> used_inputs(const Program& p) {
  std::vector<bool> used(p.types.size());
  for (const Equation& eqn : p.equations)
    for (Var v : eqn.inputs) used[v] = true;
  for (Var v : p.outputs) used[v] = true;
  std::vector<bool> result;
  for (Var v : p.inputs) result.push_back(used[v]);
  return result;
}

namespace {

using Mask = std::vector<bool>;

bool all_true(const Mask& mask) { return std::find(mask.begin(), mask.end(), false) == mask.end(); }

template <class T>
std::vector<T> chosen(const std::vector<T>& from, const Mask& mask) {
  std::vector<T> result;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (mask[i]) result.push_back(from[i]);
  return result;
}

std::shared_ptr<Program> with_outputs(const Program& p, const Mask& outputs) {
  Program q = p;
  q.outputs = chosen(p.outputs, outputs);
  return dead_code(q);
}
ProgramPtr with_inputs(std::shared_ptr<Program> p, const Mask& inputs) {
  p->inputs = chosen(p->inputs, inputs);
  return prune(*p);
}
std::size_t count(const Mask& mask, std::size_t from, std::size_t number) {
  const auto first = mask.begin() + static_cast<std::ptrdiff_t>(from);
  return static_cast<std::size_t>(
      std::count(first, first + static_cast<std::ptrdiff_t>(number), true));
}

// Each of these functions removes from the nested programs the results that are not in `needed`,
// and everything that only they used. `needed` may grow. Each returns which operands remain.

Mask narrow_loop(Flow& f, Mask& needed) {
  const bool tested = f.kind == Flow::Kind::loop;
  Mask cond_used;
  if (tested) {
    cond_used = used_inputs(*f.condition());
    for (std::size_t i = 0; i < f.carry; ++i)
      if (cond_used[f.cond_consts + i]) needed[i] = true;
  }
  std::shared_ptr<Program> kept;
  Mask used;
  for (bool grew = true; grew;) {
    grew = false;
    kept = with_outputs(*f.body(), needed);
    used = used_inputs(*kept);
    for (std::size_t i = 0; i < f.carry; ++i) {
      if (used[f.consts + i] && !needed[i]) needed[i] = grew = true;
      used[f.consts + i] = needed[i];
    }
  }
  if (tested)
    for (std::size_t i = 0; i < f.carry; ++i) cond_used[f.cond_consts + i] = needed[i];
  Mask operands(cond_used.begin(), cond_used.begin() + static_cast<std::ptrdiff_t>(f.cond_consts));
  operands.insert(operands.end(), used.begin(), used.end());
  if (all_true(operands) && all_true(needed)) return operands;
  f.programs.back() = with_inputs(kept, used);
  if (tested)
    f.programs.front() = with_inputs(std::make_shared<Program>(*f.condition()), cond_used);
  f.cond_consts = count(operands, 0, f.cond_consts);
  const std::size_t consts = count(used, 0, f.consts);
  f.carry = count(used, f.consts, f.carry);
  f.consts = consts;
  return operands;
}

Mask narrow_branches(Flow& f, Mask& needed, std::size_t operands) {
  std::vector<std::shared_ptr<Program>> kept;
  Mask used(operands - 1);
  for (const ProgramPtr& branch : f.programs) {
    kept.push_back(with_outputs(*branch, needed));
    Mask own = used_inputs(*kept.back());
    for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] || own[i];
  }
  if (!all_true(used) || !all_true(needed))
    for (std::size_t k = 0; k < kept.size(); ++k) f.programs[k] = with_inputs(kept[k], used);
  used.insert(used.begin(), true);  // the index
  return used;
}

Mask narrow_call(Flow& f, Mask& needed) {
  std::shared_ptr<Program> kept = with_outputs(*f.body(), needed);
  Mask used = used_inputs(*kept);
  if (!all_true(used) || !all_true(needed)) f.programs = {with_inputs(kept, used)};
  return used;
}

Mask narrow(Flow& f, Mask& needed, std::size_t operands) {
  switch (f.kind) {
    case Flow::Kind::call: return narrow_call(f, needed);
    case Flow::Kind::branch: return narrow_branches(f, needed, operands);
    case Flow::Kind::scan:
    case Flow::Kind::loop: return narrow_loop(f, needed);
    case Flow::Kind::region: break;  // its specs depend on its operands and results
  }
  return Mask(operands, true);
}

}  // namespace

std::shared_ptr<Program> dead_code(const Program& p) {
  Mask needed(p.types.size());
  for (Var v : p.outputs) needed[v] = true;
  std::vector<Equation> kept;  // last first
  for (std::size_t i = p.equations.size(); i-- > 0;) {
    const Equation& eqn = p.equations[i];
    bool any = false;
    for (Var v : eqn.outputs) any = any || needed[v];
    if (!any && !has_effects(eqn)) continue;
    kept.push_back(eqn);
    Equation& k = kept.back();
    // An equation that runs only for its effects is kept unchanged.
    if (any && eqn.op->with_flow) {
      Mask results;
      for (Var v : eqn.outputs) results.push_back(needed[v]);
      Flow flow = *flow_of(eqn);
      const Mask operands = narrow(flow, results, eqn.inputs.size());
      if (!all_true(operands) || !all_true(results)) {
        k.attrs = eqn.op->with_flow(eqn.attrs, flow);
        k.inputs = chosen(eqn.inputs, operands);
        k.outputs = chosen(eqn.outputs, results);
      }
    }
    for (Var v : k.inputs) needed[v] = true;
  }
  Program q;
  q.name = p.name;
  q.types = p.types;
  q.inputs = p.inputs;
  q.outputs = p.outputs;
  q.equations.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  return prune(q);
}

}  // namespace tessera::inline v0
