// Hoists loop-invariant computations out of scans.
#include "ir/nested.h"
#include "ir/op.h"
#include "transform/simplify.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

// Whether storing the equation's result in a separate array pays, and the equation may be moved.
bool moves(const Equation& e) {
  const bool worth = e.op->own_pass || !e.op->cheap;
  return worth && !e.op->barrier && !e.inputs.empty() &&
         (e.op->lowering == Lowering::emitted || e.op->lowering == Lowering::called);
}

// Collectives whose devices all run the same number of iterations: the message of every iteration
// is sent once, before the loop.
bool sends(const Equation& e) {
  return e.op->lowering == Lowering::collective && e.op->exchange != Exchange::none &&
         !e.op->barrier && !has_effects(e);
}
// Equations that may be hoisted because a hoisted collective needs them.
bool goes_along(const Equation& e) {
  return !e.op->barrier && !has_effects(e) &&
         (e.op->lowering == Lowering::emitted || e.op->lowering == Lowering::called ||
          e.op->lowering == Lowering::collective);
}

// For each equation of a scan's body, whether it is hoisted.
std::vector<bool> leaving(const Program& body, std::size_t consts) {
  std::vector<bool> leaves(body.equations.size());
  std::vector<bool> fixed(body.types.size()), same(body.types.size());
  for (std::size_t i = 0; i < consts; ++i) fixed[body.inputs[i]] = same[body.inputs[i]] = true;
  const auto all = [](const Equation& e, const std::vector<bool>& of) {
    return std::all_of(e.inputs.begin(), e.inputs.end(), [&](Var v) { return of[v]; });
  };
  std::vector<bool> sent(body.types.size());
  for (std::size_t i = 0; i < body.equations.size(); ++i) {
    const Equation& e = body.equations[i];
    if (moves(e) && all(e, fixed)) {
      leaves[i] = true;
      for (Var v : e.outputs) fixed[v] = true;
    }
    if (!goes_along(e) || !all(e, same)) continue;
    for (Var v : e.outputs) same[v] = true;
    leaves[i] = leaves[i] || (sends(e) && !e.inputs.empty());
  }
  // The equations that hoisted collectives depend on are hoisted too.
  for (std::size_t i = body.equations.size(); i-- > 0;) {
    const Equation& e = body.equations[i];
    leaves[i] = leaves[i] ||
                std::any_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return sent[v]; });
    if (leaves[i])
      for (Var v : e.inputs) sent[v] = true;
  }
  return leaves;
}

}  // namespace

ProgramPtr hoist(const ProgramPtr& p) {
  std::shared_ptr<Program> q;
  for (std::size_t k = 0; k < p->equations.size(); ++k) {
    const Equation& scan = p->equations[k];
    std::vector<std::size_t> moved;
    std::size_t consts = 0;
    std::optional<Flow> flow = flow_of(scan);
    if (flow && flow->kind == Flow::Kind::scan && flow->length > 1) {
      consts = flow->consts;
      const std::vector<bool> leaves = leaving(*flow->body(), consts);
      for (std::size_t i = 0; i < leaves.size(); ++i)
        if (leaves[i]) moved.push_back(i);
    }
    if (!moved.empty() && !q) {
      q = std::make_shared<Program>(*p);
      q->equations.assign(p->equations.begin(),
                          p->equations.begin() + static_cast<std::ptrdiff_t>(k));
    }
    if (moved.empty()) {
      if (q) q->equations.push_back(scan);
      continue;
    }
    auto body = std::make_shared<Program>(*flow->body());
    Equation loop = scan;
    std::vector<Var> outside(body->types.size());
    for (std::size_t i = 0; i < consts; ++i) outside[body->inputs[i]] = scan.inputs[i];
    std::vector<Var> made, operands;
    for (std::size_t i : moved) {
      Equation e = body->equations[i];
      for (Var& v : e.inputs) v = outside[v];
      for (Var& v : e.outputs) {
        q->types.push_back(body->types[v]);
        outside[v] = static_cast<Var>(q->types.size() - 1);
        made.push_back(v);
        operands.push_back(outside[v]);
        v = outside[v];
      }
      q->equations.push_back(std::move(e));
    }
    auto at = static_cast<std::ptrdiff_t>(consts);
    body->inputs.insert(body->inputs.begin() + at, made.begin(), made.end());
    loop.inputs.insert(loop.inputs.begin() + at, operands.begin(), operands.end());
    for (std::size_t i = moved.size(); i-- > 0;)
      body->equations.erase(body->equations.begin() + static_cast<std::ptrdiff_t>(moved[i]));
    flow->consts += made.size();
    flow->programs = {body};
    loop.attrs = scan.op->with_flow(scan.attrs, *flow);
    q->equations.push_back(std::move(loop));
  }
  return q ? ProgramPtr(q) : p;
}

}  // namespace tessera::inline v0
