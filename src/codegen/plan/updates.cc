#include "codegen/plan/updates.h"

#include "codegen/fuse/traits.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace tessera::inline v0::tapes {
namespace {

// Communication that may come to nothing: its result is its operand's memory, seen otherwise.
bool may_be_view(const Equation& eqn) {
  const Exchange how = eqn.op->exchange;
  return eqn.op == &block_op() || eqn.op == &assemble_op() || how == Exchange::gather ||
         how == Exchange::permute || how == Exchange::broadcast;
}

// Whether a carry of a loop is handed on as it is.
bool hands_on(const Equation& eqn, std::size_t k) {
  const bool scan = eqn.op->name == "scan";
  if (scan && k >= static_cast<std::size_t>(eqn.attrs.i("carry"))) return false;
  if (!scan && eqn.op->name != "while") return false;
  const Program& body = *eqn.attrs.program("body");
  const auto consts = static_cast<std::size_t>(eqn.attrs.i(scan ? "consts" : "body_consts"));
  return (scan && eqn.attrs.i("length") == 0) || body.outputs[k] == body.inputs[consts + k];
}
std::size_t carry_operand(const Equation& eqn, std::size_t k) {
  if (eqn.op->name == "scan") return static_cast<std::size_t>(eqn.attrs.i("consts")) + k;
  return static_cast<std::size_t>(eqn.attrs.i("cond_consts") + eqn.attrs.i("body_consts")) + k;
}

// Who reads what, with values of one memory taken together.
class Graph {
 public:
  explicit Graph(const Program& p)
      : p_(p),
        producer_(p.types.size(), -1),
        users_(p.types.size()),
        same_(p.types.size()),
        next_(p.equations.size()),
        updated_(p.equations.size()) {
    std::iota(same_.begin(), same_.end(), Var{0});
    for (std::size_t e = 0; e < p.equations.size(); ++e) {
      const Equation& eqn = p.equations[e];
      for (Var v : eqn.outputs) producer_[v] = static_cast<int>(e);
      for (Var v : eqn.inputs) users_[v].push_back(e);
      join_names(eqn);
    }
    readers_.resize(p.types.size());
    for (std::size_t e = 0; e < p.equations.size(); ++e)
      for (Var v : p.equations[e].inputs) {
        auto& r = readers_[find(v)];
        if (r.empty() || r.back() != e) r.push_back(e);
      }
  }

  int producer(Var v) const { return producer_[v]; }

  // The variable whose value and memory `v` is, all of it.
  Var origin(Var v) {
    for (;;) {
      const int e = producer_[v];
      if (e < 0) return v;
      const Equation& eqn = p_.equations[static_cast<std::size_t>(e)];
      const std::size_t k = result_number(eqn, v);
      if (eqn.op->forwards)
        v = eqn.inputs[k];
      else if (hands_on(eqn, k))
        v = eqn.inputs[carry_operand(eqn, k)];
      else
        return v;
    }
  }

  const std::vector<int>& updated(std::size_t e) {
    if (updated_[e].empty()) updated_[e] = updated_operands(p_, p_.equations[e]);
    return updated_[e];
  }

  // Whether no other operand of `e` may share memory with operand `j`.
  bool sole(std::size_t e, int j) {
    const auto& in = p_.equations[e].inputs;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (static_cast<int>(i) != j && find(in[i]) == find(in[static_cast<std::size_t>(j)]))
        return false;
    return true;
  }

  // Asks that all readers of operand `j` come before `e`; refuses where one needs the result of
  // `e`.
  bool order(std::size_t e, int j, bool keep) {
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

  struct Step {
    std::size_t equation, result;
    int operand;
  };
  struct Chain {
    int input = -1;           // position among the inputs
    std::vector<Step> steps;  // from the output back to the input
  };
  // The updates that lead from an input to `v`.
  Chain chain(Var v) {
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

  const std::vector<std::vector<std::size_t>>& next() const { return next_; }
  bool in_order() const { return forward_; }

  // The equations as `next` asks, otherwise as they are.
  std::vector<std::size_t> sorted() const {
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

 private:
  static std::size_t result_number(const Equation& eqn, Var v) {
    return static_cast<std::size_t>(std::find(eqn.outputs.begin(), eqn.outputs.end(), v) -
                                    eqn.outputs.begin());
  }

  // A kernel may read the operand of a free equation instead of its result; blocks and wholes are
  // views of one another.
  void join_names(const Equation& eqn) {
    if (eqn.op->lowering == Lowering::control) {
      for (std::size_t k = 0; k < eqn.outputs.size(); ++k)
        if (hands_on(eqn, k)) join(eqn.outputs[k], eqn.inputs[carry_operand(eqn, k)]);
      return;
    }
    if (eqn.op->forwards) {
      for (std::size_t k = 0; k < eqn.outputs.size(); ++k) join(eqn.outputs[k], eqn.inputs[k]);
      return;
    }
    if (may_be_view(eqn) || (eqn.op->lowering != Lowering::collective &&
                             codegen::role_of(p_, eqn) == FuseRole::free))
      for (Var out : eqn.outputs)
        for (Var in : eqn.inputs) join(out, in);
  }
  Var find(Var v) {
    while (same_[v] != v) v = same_[v] = same_[same_[v]];
    return v;
  }
  void join(Var a, Var b) { same_[find(a)] = find(b); }

  std::vector<bool> reached_from(std::size_t e) const {
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

  const Program& p_;
  std::vector<int> producer_;                      // of a variable; -1 for an input
  std::vector<std::vector<std::size_t>> users_;    // of a variable
  std::vector<Var> same_;                          // union of variables that may share memory
  std::vector<std::vector<std::size_t>> readers_;  // of the union of a variable
  std::vector<std::vector<std::size_t>> next_;     // what has to come after an equation
  std::vector<std::vector<int>> updated_;
  bool forward_ = true;  // `next_` only points ahead
};

const Program* expansion(const Equation& eqn) {
  for (const auto& [name, value] : eqn.attrs)
    if (const auto* p = std::get_if<ProgramPtr>(&value); p && *p &&
                                                         (*p)->inputs.size() == eqn.inputs.size() &&
                                                         (*p)->outputs.size() == eqn.outputs.size())
      return p->get();
  return nullptr;
}

// Branches agree on the operand, and one of them changes it. One that makes something else of it
// copies that into the operand's memory at its end.
void of_branches(const Equation& eqn, std::vector<int>& operands) {
  std::vector<int> changed(operands.size(), -1);
  for (const ProgramPtr& branch : eqn.attrs.get<Programs>("branches")) {
    Graph g(*branch);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Graph::Chain c = g.chain(branch->outputs[k]);
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
  const std::string& op = eqn.op->name;
  if (eqn.op->overwrites) {
    std::vector<Type> inputs, outputs;
    for (Var v : eqn.inputs) inputs.push_back(p.types[v]);
    for (Var v : eqn.outputs) outputs.push_back(p.types[v]);
    for (std::size_t k = 0; k < operands.size(); ++k)
      operands[k] = eqn.op->overwrites({inputs, outputs, eqn.attrs}, k);
  } else if (op == "scan" || op == "while") {
    const Program& body = *eqn.attrs.program("body");
    const auto consts =
        static_cast<std::size_t>(eqn.attrs.i(op == "scan" ? "consts" : "body_consts"));
    const std::size_t carries =
        op == "scan" ? static_cast<std::size_t>(eqn.attrs.i("carry")) : eqn.outputs.size();
    Graph g(body);
    for (std::size_t k = 0; k < carries; ++k) {
      if (hands_on(eqn, k)) continue;
      const Graph::Chain c = g.chain(body.outputs[k]);
      if (!c.steps.empty() && c.input == static_cast<int>(consts + k))
        operands[k] = static_cast<int>(carry_operand(eqn, k));
    }
  } else if (op == "cond") {
    of_branches(eqn, operands);
  } else if (eqn.op->lowering == Lowering::expanded) {
    if (const Program* inside = expansion(eqn)) {
      Graph g(*inside);
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (Graph::Chain c = g.chain(inside->outputs[k]); !c.steps.empty()) operands[k] = c.input;
    }
  }
  return operands;
}

Updates plan_updates(Level& level, const std::vector<int>& ties, const std::vector<bool>& donated) {
  Program& p = *level.flat;
  const std::size_t n = p.equations.size();
  Updates u;
  u.takes.resize(n);
  u.after.resize(n);
  Graph g(p);
  bool any = false;
  auto take = [&](std::size_t e, std::size_t k, int j) {
    if (!g.sole(e, j) || !g.order(e, j, true)) return;
    u.takes[e].resize(p.equations[e].outputs.size(), -1);
    u.takes[e][k] = j;
    any = true;
  };
  for (std::size_t k = 0; k < ties.size(); ++k) {
    if (ties[k] < 0) continue;
    const Graph::Chain c = g.chain(p.outputs[k]);
    if (c.input != ties[k]) continue;
    for (auto it = c.steps.rbegin(); it != c.steps.rend(); ++it)
      take(it->equation, it->result, it->operand);
  }
  // Others where the operand is this level's own. The last of several updates of one array takes
  // its memory, so they are gone through backwards.
  for (std::size_t e = n; e-- > 0;) {
    const Equation& eqn = p.equations[e];
    for (std::size_t k = 0; k < eqn.outputs.size(); ++k) {
      const int j = g.updated(e)[k];
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
      // A block of a donated input is as good as the input.
      if (made.op == &block_op()) {
        auto it = std::find(p.inputs.begin(), p.inputs.end(), made.inputs[0]);
        const auto i = static_cast<std::size_t>(it - p.inputs.begin());
        if (i < donated.size() && donated[i]) take(e, k, j);
        continue;
      }
      if (may_be_view(made) || made.op->literal || made.op->position)
        continue;
      // A kernel writes what is made of a number with the update in it.
      if (eqn.op->lowering == Lowering::emitted &&
          codegen::role_of(p, made) == FuseRole::free)
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
  Updates moved;
  moved.takes.resize(n);
  moved.after.resize(n);
  for (std::size_t e = 0; e < n; ++e) {
    equations[place[e]] = std::move(p.equations[e]);
    scope[place[e]] = level.scope[e];
    hold[place[e]] = level.hold[e];
    moved.takes[place[e]] = std::move(u.takes[e]);
    for (std::size_t next : g.next()[e]) moved.after[place[next]].push_back(place[e]);
  }
  p.equations = std::move(equations);
  level.scope = std::move(scope);
  level.hold = std::move(hold);
  return moved;
}

}  // namespace tessera::inline v0::tapes
