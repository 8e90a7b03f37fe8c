// Turns groups of equations into clusters.
#include "codegen/fuse/graph.h"
#include "ir/op.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {

namespace {

// The equations of a kernel in the order in which its results need them, each after its operands.
// The program may contain them in any order. In this order, kernels that compute the same are
// equal, and are compiled once.
std::vector<std::size_t> as_needed(const FuseGraph& graph, int id,
                                   const std::vector<std::size_t>& members) {
  const std::unordered_set<std::size_t> inside(members.begin(), members.end());
  std::unordered_set<std::size_t> reached;
  std::vector<std::size_t> ordered;
  // Equations whose operands are being visited, with the next operand.
  std::vector<std::pair<std::size_t, std::size_t>> open;
  auto visit = [&](std::size_t from) {
    if (!reached.insert(from).second) return;
    open.emplace_back(from, 0);
    while (!open.empty()) {
      auto& [k, next] = open.back();
      const std::vector<Var>& operands = graph.program.equations[k].inputs;
      if (next == operands.size()) {
        ordered.push_back(k);
        open.pop_back();
        continue;
      }
      const int producer = graph.producer[operands[next++]];
      const auto needed = static_cast<std::size_t>(producer);
      if (producer != kNone && inside.contains(needed) && reached.insert(needed).second)
        open.emplace_back(needed, 0);
    }
  };
  for (std::size_t k : graph.groups[static_cast<std::size_t>(id)].equations) {
    const std::vector<Var>& results = graph.program.equations[k].outputs;
    if (std::any_of(results.begin(), results.end(),
                    [&](Var v) { return graph.escapes(v, id, kNoEquation); }))
      visit(k);
  }
  for (std::size_t k : members) visit(k);
  return ordered;
}

Cluster cluster_of(const FuseGraph& graph, int id) {
  const Group& g = graph.groups[static_cast<std::size_t>(id)];
  Cluster c;
  if (!g.kernel) {
    const Equation& e = graph.program.equations[g.equations[0]];
    c.kind = Cluster::Kind::single;
    c.equations = g.equations;
    c.inputs = e.inputs;
    c.outputs = e.outputs;
    return c;
  }
  c.kind = Cluster::Kind::kernel;
  // Include the free equations that the kernel repeats.
  std::vector<std::size_t> members = g.equations;
  std::unordered_set<std::size_t> have(members.begin(), members.end());
  for (std::size_t i = 0; i < members.size(); ++i)
    for (Var v : graph.program.equations[members[i]].inputs) {
      int k = graph.producer[v];
      if (k != kNone && graph.floats(static_cast<std::size_t>(k)) &&
          have.insert(static_cast<std::size_t>(k)).second)
        members.push_back(static_cast<std::size_t>(k));
    }
  std::sort(members.begin(), members.end());
  c.equations = members;
  members = as_needed(graph, id, members);
  auto kernel = std::make_shared<Program>();
  kernel->name = "kernel";
  std::map<Var, Var> local;
  auto declare = [&](Var v) {
    kernel->types.push_back(graph.program.type(v));
    return local[v] = static_cast<Var>(kernel->types.size() - 1);
  };
  std::unordered_set<Var> inside;
  for (std::size_t k : members)
    for (Var v : graph.program.equations[k].outputs) inside.insert(v);
  for (std::size_t k : members)
    for (Var v : graph.program.equations[k].inputs)
      if (!inside.contains(v) && !local.contains(v)) {
        c.inputs.push_back(v);
        kernel->inputs.push_back(declare(v));
      }
  for (std::size_t k : members) {
    Equation e = graph.program.equations[k];
    for (Var& v : e.inputs) v = local.at(v);
    for (std::size_t i = 0; i < e.outputs.size(); ++i) e.outputs[i] = declare(e.outputs[i]);
    kernel->equations.push_back(std::move(e));
  }
  for (std::size_t k : g.equations)
    for (Var v : graph.program.equations[k].outputs)
      if (graph.escapes(v, id, kNoEquation)) {
        c.outputs.push_back(v);
        kernel->outputs.push_back(local.at(v));
      }
  c.program = std::move(kernel);
  return c;
}

}  // namespace

std::vector<Cluster> clusters_of(const FuseGraph& graph) {
  std::vector<Cluster> made;
  std::vector<std::size_t> position(graph.groups.size());
  std::vector<std::vector<std::size_t>> after;
  std::vector<std::size_t> waiting;
  std::vector<std::size_t> ids;
  for (std::size_t id = 0; id < graph.groups.size(); ++id) {
    if (graph.groups[id].gone) continue;
    position[id] = ids.size();
    ids.push_back(id);
  }
  after.resize(ids.size());
  waiting.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    made.push_back(cluster_of(graph, static_cast<int>(ids[i])));
    std::unordered_set<int> read;
    for (Var v : made.back().inputs)
      if (int g = graph.group_of_var(v); g != kNone) read.insert(g);
    for (std::size_t k : graph.groups[static_cast<std::size_t>(ids[i])].equations)
      for (int g : graph.groups_before(k)) read.insert(g);
    read.erase(static_cast<int>(ids[i]));
    for (int g : read) {
      after[position[static_cast<std::size_t>(g)]].push_back(i);
      ++waiting[i];
    }
  }
  // Sort in program order where dependencies allow.
  auto key = [&](std::size_t i) { return graph.groups[ids[i]].equations.back(); };
  auto later = [&](std::size_t a, std::size_t b) { return key(a) > key(b); };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> ready(later);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (!waiting[i]) ready.push(i);
  std::vector<Cluster> ordered;
  while (!ready.empty()) {
    std::size_t i = ready.top();
    ready.pop();
    for (std::size_t j : after[i])
      if (--waiting[j] == 0) ready.push(j);
    if (made[i].kind == Cluster::Kind::single || !made[i].outputs.empty())
      ordered.push_back(std::move(made[i]));
  }
  return ordered;
}

}  // namespace tessera::inline v0::codegen
