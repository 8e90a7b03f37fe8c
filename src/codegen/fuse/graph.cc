#include "codegen/fuse/graph.h"

#include "ir/op.h"

namespace tessera::inline v0::codegen {

FuseGraph::FuseGraph(const Program& p, const std::vector<int>& classes, const Overwriting& o)
    : program(p),
      exec_class(classes),
      overwriting(o),
      producer(p.types.size(), kNone),
      users(p.types.size()),
      is_output(p.types.size()),
      materialized(p.equations.size()),
      group_of(p.equations.size(), kNone) {
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    const Equation& e = p.equations[k];
    roles.push_back(k < o.apart.size() && o.apart[k] ? FuseRole::apart : role_of(p, e));
    for (Var v : e.outputs) producer[v] = static_cast<int>(k);
    for (Var v : e.inputs) users[v].push_back(k);
  }
  for (Var v : p.outputs) is_output[v] = true;
  for (std::size_t k = p.equations.size(); k-- > 0;) {
    if (roles[k] != FuseRole::free) continue;
    for (Var v : p.equations[k].outputs) {
      bool needed = is_output[v];
      for (std::size_t u : users[v])
        needed |= roles[u] == FuseRole::apart || (materialized[u] && is_view(u));
      materialized[k] = materialized[k] || needed;
    }
  }
}

bool FuseGraph::is_view(std::size_t k) const {
  return program.equations[k].op->lowering == Lowering::view;
}

int FuseGraph::group_of_var(Var v) const {
  int k = producer[v];
  return k == kNone ? kNone : group_of[static_cast<std::size_t>(k)];
}

std::vector<int> FuseGraph::groups_before(std::size_t k) const {
  std::vector<int> before;
  if (k < overwriting.after.size())
    for (std::size_t e : overwriting.after[k])
      if (int g = group_of[e]; g != kNone) before.push_back(g);
  return before;
}

void FuseGraph::sources(Var v, Reading reading, bool reshaped, std::vector<Source>& out) const {
  int k = producer[v];
  if (k == kNone || !floats(static_cast<std::size_t>(k))) {
    out.push_back({v, reading, reshaped});
    return;
  }
  const Equation& e = program.equations[static_cast<std::size_t>(k)];
  if (e.inputs.empty()) return;
  if (e.op->spreads) {
    Reading r = reading_of_spread(program, e);
    if (r != Reading::same)
      reading = reading == Reading::same && !reshaped                  ? r
                : reading == Reading::leading && r == Reading::leading ? r
                                                                       : Reading::other;
  } else if (e.op->forwards) {
    reshaped |= squeezed(program.type(e.inputs[0]).shape) != squeezed(program.type(v).shape);
    if (reshaped && reading == Reading::leading) reading = Reading::other;
  }
  sources(e.inputs[0], reading, reshaped, out);
}

std::vector<Source> FuseGraph::sources_of(std::size_t k) const {
  std::vector<Source> from;
  for (Var v : program.equations[k].inputs) sources(v, Reading::same, false, from);
  return from;
}

bool FuseGraph::escapes(Var v, int g, std::size_t e) const {
  if (is_output[v]) return true;
  for (std::size_t u : users[v]) {
    if (u == e) continue;
    if (floats(u)) {
      for (Var w : program.equations[u].outputs)
        if (escapes(w, g, e)) return true;
    } else if (group_of[u] == kNone || group_of[u] != g) {
      return true;
    }
  }
  return false;
}

}  // namespace tessera::inline v0::codegen
