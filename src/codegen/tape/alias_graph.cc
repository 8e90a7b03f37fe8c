#include "codegen/tape/alias_graph.h"

#include "codegen/fuse/traits.h"
#include "codegen/tape/updates.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace tessera::inline v0::tape {
namespace {

std::size_t result_number(const Equation& eqn, Var v) {
  return static_cast<std::size_t>(std::find(eqn.outputs.begin(), eqn.outputs.end(), v) -
                                  eqn.outputs.begin());
}

}  // namespace

bool hands_on(const Flow& loop, std::size_t k) {
  if (k >= loop.carry) return false;
  const Program& body = *loop.body();
  return (loop.kind == Flow::Kind::scan && loop.length == 0) ||
         body.outputs[k] == body.inputs[loop.consts + k];
}

bool may_be_view(const Equation& eqn) {
  const Exchange how = eqn.op->exchange;
  return eqn.op == &block_op() || eqn.op == &assemble_op() || how == Exchange::gather ||
         how == Exchange::permute || how == Exchange::broadcast;
}

AliasGraph::AliasGraph(const Program& p)
    : p_(p),
      producer_(p.types.size(), -1),
      users_(p.types.size()),
      same_(p.types.size()),
      next_(p.equations.size()),
      updated_(p.equations.size()),
      loops_(p.equations.size()) {
  std::iota(same_.begin(), same_.end(), Var{0});
  for (std::size_t e = 0; e < p.equations.size(); ++e) {
    const Equation& eqn = p.equations[e];
    for (Var v : eqn.outputs) producer_[v] = static_cast<int>(e);
    for (Var v : eqn.inputs) users_[v].push_back(e);
    if (std::optional<Flow> flow = flow_of(eqn); flow && flow->repeats()) loops_[e] = flow;
    join_names(e);
  }
  readers_.resize(p.types.size());
  for (std::size_t e = 0; e < p.equations.size(); ++e)
    for (Var v : p.equations[e].inputs) {
      auto& r = readers_[find(v)];
      if (r.empty() || r.back() != e) r.push_back(e);
    }
}

Var AliasGraph::origin(Var v) const {
  for (;;) {
    if (producer_[v] < 0) return v;
    const auto e = static_cast<std::size_t>(producer_[v]);
    const Equation& eqn = p_.equations[e];
    const std::size_t k = result_number(eqn, v);
    if (eqn.op->forwards)
      v = eqn.inputs[k];
    else if (loops_[e] && hands_on(*loops_[e], k))
      v = eqn.inputs[loops_[e]->carry_operand(k)];
    else
      return v;
  }
}

const std::vector<int>& AliasGraph::updated(std::size_t e) {
  if (updated_[e].empty()) updated_[e] = updated_operands(p_, p_.equations[e]);
  return updated_[e];
}

bool AliasGraph::sole(std::size_t e, int j) {
  const auto& in = p_.equations[e].inputs;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (static_cast<int>(i) != j && find(in[i]) == find(in[static_cast<std::size_t>(j)]))
      return false;
  return true;
}

bool AliasGraph::order(std::size_t e, int j, bool keep) {
  const auto& readers = readers_[find(p_.equations[e].inputs[static_cast<std::size_t>(j)])];
  const bool ahead = forward_ && (readers.empty() || readers.back() <= e);
  if (!ahead) {
    const std::vector<bool> later = reached_from(e);
    for (std::size_t r : readers)
      if (r != e && later[r]) return false;
  }
  if (!keep) return true;
  forward_ = ahead;
  for (std::size_t r : readers)
    if (r != e) next_[r].push_back(e);
  return true;
}

AliasGraph::Chain AliasGraph::chain(Var v) {
  Chain c;
  for (;;) {
    v = origin(v);
    const int e = producer_[v];
    if (e < 0) break;
    const auto at = static_cast<std::size_t>(e);
    const std::size_t k = result_number(p_.equations[at], v);
    const int j = updated(at)[k];
    if (j < 0 || !sole(at, j) || !order(at, j, false)) return {};
    c.steps.push_back({at, k, j});
    v = p_.equations[at].inputs[static_cast<std::size_t>(j)];
  }
  auto it = std::find(p_.inputs.begin(), p_.inputs.end(), v);
  if (it == p_.inputs.end()) return {};
  c.input = static_cast<int>(it - p_.inputs.begin());
  return c;
}

std::vector<std::size_t> AliasGraph::sorted() const {
  const std::size_t n = p_.equations.size();
  std::vector<std::size_t> waiting(n), order;
  auto each_user = [&](std::size_t e, auto&& f) {
    for (Var v : p_.equations[e].outputs)
      for (std::size_t u : users_[v]) f(u);
    for (std::size_t u : next_[e]) f(u);
  };
  for (std::size_t e = 0; e < n; ++e) each_user(e, [&](std::size_t u) { ++waiting[u]; });
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t e = 0; e < n; ++e)
    if (!waiting[e]) ready.push(e);
  while (!ready.empty()) {
    const std::size_t e = ready.top();
    ready.pop();
    order.push_back(e);
    each_user(e, [&](std::size_t u) {
      if (--waiting[u] == 0) ready.push(u);
    });
  }
  if (order.size() != n) throw InternalError("planner: updates in place wait in a circle");
  return order;
}

Var AliasGraph::find(Var v) {
  while (same_[v] != v) v = same_[v] = same_[same_[v]];
  return v;
}

std::vector<bool> AliasGraph::reached_from(std::size_t e) const {
  std::vector<bool> seen(p_.equations.size());
  std::vector<std::size_t> open{e};
  auto visit = [&](std::size_t u) {
    if (seen[u]) return;
    seen[u] = true;
    open.push_back(u);
  };
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (Var v : p_.equations[at].outputs)
      for (std::size_t u : users_[v]) visit(u);
    for (std::size_t u : next_[at]) visit(u);
  }
  return seen;
}

// A kernel may read the operand of a free equation instead of its result. Blocks and whole arrays
// are views of one another.
void AliasGraph::join_names(std::size_t e) {
  const Equation& eqn = p_.equations[e];
  if (eqn.op->lowering == Lowering::control) {
    if (loops_[e])
      for (std::size_t k = 0; k < eqn.outputs.size(); ++k)
        if (hands_on(*loops_[e], k)) join(eqn.outputs[k], eqn.inputs[loops_[e]->carry_operand(k)]);
    return;
  }
  if (eqn.op->forwards) {
    for (std::size_t k = 0; k < eqn.outputs.size(); ++k) join(eqn.outputs[k], eqn.inputs[k]);
    return;
  }
  if (may_be_view(eqn) ||
      (eqn.op->lowering != Lowering::collective && codegen::role_of(p_, eqn) == FuseRole::free))
    for (Var out : eqn.outputs)
      for (Var in : eqn.inputs) join(out, in);
}

}  // namespace tessera::inline v0::tape
