#include "codegen/tape/updates.h"

#include "codegen/fuse/traits.h"
#include "codegen/tape/alias_graph.h"
#include "transform/pass.h"

#include <algorithm>

namespace tessera::inline v0::tape {
namespace {

// A loop keeps a carry in one place if its body updates that same carry.
void of_turns(const Flow& loop, std::vector<int>& operands) {
  const Program& body = *loop.body();
  AliasGraph g(body);
  for (std::size_t k = 0; k < loop.carry; ++k) {
    if (hands_on(loop, k)) continue;
    const AliasGraph::Chain c = g.chain(body.outputs[k]);
    if (!c.steps.empty() && c.input == static_cast<int>(loop.consts + k))
      operands[k] = static_cast<int>(loop.carry_operand(k));
  }
}

// All branches must agree on the operand, and at least one must update it. A branch with another
// result copies it into the operand's memory at its end.
void of_branches(const Flow& choice, std::vector<int>& operands) {
  std::vector<int> changed(operands.size(), -1);
  for (const ProgramPtr& branch : choice.programs) {
    AliasGraph g(*branch);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const AliasGraph::Chain c = g.chain(branch->outputs[k]);
      if (!c.steps.empty() && changed[k] < 0) changed[k] = c.input + 1;
    }
  }
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (changed[k] > 0 && std::count(operands.begin(), operands.end(), changed[k]) == 0)
      operands[k] = changed[k];
}

}  // namespace

std::vector<int> updated_operands(const Program& p, const Equation& eqn) {
  std::vector<int> operands(eqn.outputs.size(), -1);
  if (eqn.op->overwrites) {
    std::vector<Type> inputs, outputs;
    for (Var v : eqn.inputs) inputs.push_back(p.types[v]);
    for (Var v : eqn.outputs) outputs.push_back(p.types[v]);
    for (std::size_t k = 0; k < operands.size(); ++k)
      operands[k] = eqn.op->overwrites({inputs, outputs, eqn.attrs}, k);
    return operands;
  }
  const std::optional<Flow> flow = flow_of(eqn);
  if (!flow) return operands;
  switch (flow->kind) {
    case Flow::Kind::scan:
    case Flow::Kind::loop: of_turns(*flow, operands); break;
    case Flow::Kind::branch: of_branches(*flow, operands); break;
    case Flow::Kind::call: {
      AliasGraph g(*flow->body());
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (AliasGraph::Chain c = g.chain(flow->body()->outputs[k]); !c.steps.empty())
          operands[k] = c.input;
      break;
    }
    case Flow::Kind::region: break;
  }
  return operands;
}

namespace {

Updates planned(Level& level, const std::vector<int>& ties, const std::vector<bool>& donated) {
  Program& p = *level.flat;
  const std::size_t n = p.equations.size();
  Updates u(n);
  AliasGraph g(p);
  for (std::size_t e = 0; e < n; ++e) u.updated[e] = g.updated(e);
  bool any = false;
  auto take = [&](std::size_t e, std::size_t k, int j) {
    if (!g.sole(e, j) || !g.order(e, j, true)) return;
    u.takes[e].resize(p.equations[e].outputs.size(), -1);
    u.takes[e][k] = j;
    any = true;
  };
  for (std::size_t k = 0; k < ties.size(); ++k) {
    if (ties[k] < 0) continue;
    const AliasGraph::Chain c = g.chain(p.outputs[k]);
    if (c.input != ties[k]) continue;
    for (auto it = c.steps.rbegin(); it != c.steps.rend(); ++it)
      take(it->equation, it->result, it->operand);
  }
  // Then the other updates whose operand belongs to this level. The last of several updates of one
  // array takes its memory, so the equations are visited backwards.
  for (std::size_t e = n; e-- > 0;) {
    const Equation& eqn = p.equations[e];
    for (std::size_t k = 0; k < eqn.outputs.size(); ++k) {
      const int j = u.updated[e][k];
      if (j < 0 || (!u.takes[e].empty() && u.takes[e][k] >= 0)) continue;
      const Var v = g.origin(eqn.inputs[static_cast<std::size_t>(j)]);
      const int from = g.producer(v);
      if (from < 0) {
        auto it = std::find(p.inputs.begin(), p.inputs.end(), v);
        const auto i = static_cast<std::size_t>(it - p.inputs.begin());
        if (i < donated.size() && donated[i]) take(e, k, j);
        continue;
      }
      const Equation& made = p.equations[static_cast<std::size_t>(from)];
      // A block of a donated input may be overwritten like the input.
      if (made.op == &block_op()) {
        auto it = std::find(p.inputs.begin(), p.inputs.end(), made.inputs[0]);
        const auto i = static_cast<std::size_t>(it - p.inputs.begin());
        if (i < donated.size() && donated[i]) take(e, k, j);
        continue;
      }
      if (may_be_view(made) || made.op->literal || made.op->position) continue;
      // A kernel that fills an array from a scalar can write the update as well.
      if (eqn.op->lowering == Lowering::emitted && codegen::role_of(p, made) == FuseRole::free)
        continue;
      take(e, k, j);
    }
  }
  if (!any) return u;

  if (g.in_order()) {
    for (std::size_t e = 0; e < n; ++e)
      for (std::size_t next : g.next()[e]) u.after[next].push_back(e);
    return u;
  }
  const std::vector<std::size_t> order = g.sorted();
  std::vector<std::size_t> place(n);
  for (std::size_t i = 0; i < n; ++i) place[order[i]] = i;
  std::vector<Equation> equations(n);
  std::vector<int> scope(n), hold(n);
  std::vector<std::int64_t> works_for(n);
  Updates moved(n);
  for (std::size_t e = 0; e < n; ++e) {
    equations[place[e]] = std::move(p.equations[e]);
    scope[place[e]] = level.scope[e];
    hold[place[e]] = level.hold[e];
    works_for[place[e]] = level.works_for[e];
    moved.takes[place[e]] = std::move(u.takes[e]);
    moved.updated[place[e]] = std::move(u.updated[e]);
    for (std::size_t next : g.next()[e]) moved.after[place[next]].push_back(place[e]);
  }
  p.equations = std::move(equations);
  level.scope = std::move(scope);
  level.hold = std::move(hold);
  level.works_for = std::move(works_for);
  return moved;
}

// The program as text, with the results that overwrite an operand.
std::string updates_text(const Program& p, const Updates& u) {
  std::string out = to_string(p);
  for (std::size_t e = 0; e < p.equations.size(); ++e)
    for (std::size_t k = 0; k < u.takes[e].size(); ++k)
      if (u.takes[e][k] >= 0)
        out += "\n// equation " + std::to_string(e) + ": result " + std::to_string(k) +
               " over operand " + std::to_string(u.takes[e][k]);
  return out;
}

#ifdef TESSERA_VERIFY_PASSES
// Checks that every value is defined before it is read, and that no overwritten value is read.
void verify(const Program& p, const Updates& u) {
  std::vector<bool> there(p.types.size());
  for (Var v : p.inputs) there[v] = true;
  for (std::size_t e = 0; e < p.equations.size(); ++e) {
    for (Var v : p.equations[e].inputs)
      if (!there[v]) throw InternalError("updates: a value is read before it is there");
    for (std::size_t before : u.after[e])
      if (before >= e) throw InternalError("updates: a reader comes after what writes over");
    for (Var v : p.equations[e].outputs) there[v] = true;
  }
}
#endif

}  // namespace

Updates plan_updates(Level& level, const std::vector<int>& ties, const std::vector<bool>& donated) {
  PassRun run("updates", *level.flat);
  if (run.off()) return Updates(level.flat->equations.size());
  Updates u = planned(level, ties, donated);
#ifdef TESSERA_VERIFY_PASSES
  verify(*level.flat, u);
#endif
  run.gave([&] { return updates_text(*level.flat, u); });
  return u;
}

}  // namespace tessera::inline v0::tape
