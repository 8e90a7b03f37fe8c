#include "transform/dead_code.h"

#include "ir/builder.h"
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

bool all(const Mask& mask) { return std::find(mask.begin(), mask.end(), false) == mask.end(); }

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
std::int64_t count(const Mask& mask, std::size_t from, std::size_t to) {
  return std::count(mask.begin() + static_cast<std::ptrdiff_t>(from),
                    mask.begin() + static_cast<std::ptrdiff_t>(to), true);
}

// Each of these drops the results that are not in `needed` and what only they used: `needed` may
// grow. They leave the equation as it is where there is nothing to drop.

void narrow_scan(Equation& eqn, Mask& needed) {
  const Program& body = *eqn.attrs.program("body");
  std::size_t consts = static_cast<std::size_t>(eqn.attrs.i("consts")),
              carry = static_cast<std::size_t>(eqn.attrs.i("carry"));
  std::shared_ptr<Program> kept;
  Mask used;
  for (bool grew = true; grew;) {
    grew = false;
    kept = with_outputs(body, needed);
    used = used_inputs(*kept);
    for (std::size_t i = 0; i < carry; ++i) {
      if (used[consts + i] && !needed[i]) needed[i] = grew = true;
      used[consts + i] = needed[i];
    }
  }
  if (all(used) && all(needed)) return;
  eqn.attrs.set("body", with_inputs(kept, used));
  eqn.attrs.set("consts", count(used, 0, consts));
  eqn.attrs.set("carry", count(used, consts, consts + carry));
  eqn.inputs = chosen(eqn.inputs, used);
}

void narrow_while(Equation& eqn, Mask& needed) {
  const ProgramPtr cond = eqn.attrs.program("cond"), body = eqn.attrs.program("body");
  std::size_t cond_consts = static_cast<std::size_t>(eqn.attrs.i("cond_consts"));
  std::size_t body_consts = static_cast<std::size_t>(eqn.attrs.i("body_consts")),
              carry = needed.size();
  Mask cond_used = used_inputs(*cond), used;
  for (std::size_t i = 0; i < carry; ++i)
    if (cond_used[cond_consts + i]) needed[i] = true;
  std::shared_ptr<Program> kept;
  for (bool grew = true; grew;) {
    grew = false;
    kept = with_outputs(*body, needed);
    used = used_inputs(*kept);
    for (std::size_t i = 0; i < carry; ++i) {
      if (used[body_consts + i] && !needed[i]) needed[i] = grew = true;
      used[body_consts + i] = needed[i];
    }
  }
  for (std::size_t i = 0; i < carry; ++i) cond_used[cond_consts + i] = needed[i];
  if (all(used) && all(cond_used)) return;
  Mask operands(cond_used.begin(), cond_used.begin() + static_cast<std::ptrdiff_t>(cond_consts));
  operands.insert(operands.end(), used.begin(), used.end());
  eqn.attrs.set("cond", with_inputs(std::make_shared<Program>(*cond), cond_used));
  eqn.attrs.set("body", with_inputs(kept, used));
  eqn.attrs.set("cond_consts", count(cond_used, 0, cond_consts));
  eqn.attrs.set("body_consts", count(used, 0, body_consts));
  eqn.inputs = chosen(eqn.inputs, operands);
}

void narrow_cond(Equation& eqn, Mask& needed) {
  const Programs branches = eqn.attrs.get<Programs>("branches");
  std::vector<std::shared_ptr<Program>> kept;
  Mask used(eqn.inputs.size() - 1);
  for (const ProgramPtr& branch : branches) {
    kept.push_back(with_outputs(*branch, needed));
    Mask own = used_inputs(*kept.back());
    for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] || own[i];
  }
  if (all(used) && all(needed)) return;
  Programs narrowed;
  for (auto& branch : kept) narrowed.push_back(with_inputs(branch, used));
  eqn.attrs.set("branches", std::move(narrowed));
  used.insert(used.begin(), true);  // the index
  eqn.inputs = chosen(eqn.inputs, used);
}

void narrow_region(Equation& eqn, Mask& needed) {
  std::shared_ptr<Program> kept = with_outputs(*eqn.attrs.program("body"), needed);
  Mask used = used_inputs(*kept);
  if (all(used) && all(needed)) return;
  eqn.attrs.set("body", with_inputs(kept, used));
  eqn.inputs = chosen(eqn.inputs, used);
}

using Narrow = void (*)(Equation&, Mask&);
Narrow narrowing_of(const std::string& op) {
  if (op == "scan") return narrow_scan;
  if (op == "while") return narrow_while;
  if (op == "cond") return narrow_cond;
  if (op == "remat") return narrow_region;
  return nullptr;
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
    if (!any) continue;
    kept.push_back(eqn);
    Equation& k = kept.back();
    if (Narrow narrow = narrowing_of(eqn.op->name)) {
      Mask results;
      for (Var v : eqn.outputs) results.push_back(needed[v]);
      narrow(k, results);
      k.outputs = chosen(eqn.outputs, results);
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
