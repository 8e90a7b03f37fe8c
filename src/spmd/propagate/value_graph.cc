#include "spmd/propagate/value_graph.h"

#include "ir/nested.h"
#include "spmd/propagate/graph_builder.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

GraphBuilder::GraphBuilder(ValueGraph& g, const AtomMesh& mesh, DraftTable& drafts)
    : g_(g), mesh_(mesh), drafts_(drafts), rules_(g.rules) {
  g_.drafts.push_back(drafts_.id({Placement::replicated(0), 0, {}}));
  values_.emplace_back();
  for (int a = 0; a < mesh_.count(); ++a) all_.insert(static_cast<Atom>(a));
}

ValueGraph::Id GraphBuilder::value(int rank, AtomSet barred) {
  if (rank == 0) return ValueGraph::scalar;
  if (barred != usual_barred_ || rank >= static_cast<int>(usual_.size())) {
    if (barred != usual_barred_) usual_.clear();
    usual_barred_ = barred;
    for (int r = static_cast<int>(usual_.size()); r <= rank; ++r)
      usual_.push_back(drafts_.id({Placement::replicated(r), 0, barred}));
  }
  return value(usual_[static_cast<std::size_t>(rank)]);
}

ValueGraph::Id GraphBuilder::value(DraftTable::Id draft) {
  g_.drafts.push_back(draft);
  values_.emplace_back();
  return static_cast<ValueGraph::Id>(values_.size()) - 1;
}

// The first reader of a constant reads the value itself; each further reader gets its own value.
ValueGraph::Id GraphBuilder::read(Frame& f, std::size_t equation, std::size_t operand, Var v) {
  ValueGraph::Id id = f.now[v];
  if (id == ValueGraph::scalar) return id;
  if (values_[id].split && values_[id].readers > 0) {
    const DraftTable::Id like = g_.drafts[id];
    id = value(like);
  }
  ++values_[id].readers;
  if (id != g_.scopes[f.scope].of[v]) g_.read_as[{f.scope, equation, operand}] = id;
  return id;
}

std::uint32_t GraphBuilder::reserve(const Frame& f, std::size_t equation) {
  ValueGraph::Node node;
  node.rule = ValueGraph::none;
  node.scope = f.scope;
  node.equation = static_cast<std::uint32_t>(equation);
  g_.nodes.push_back(node);
  return static_cast<std::uint32_t>(g_.nodes.size()) - 1;
}

void GraphBuilder::connect(std::uint32_t node, std::uint32_t rule,
                           std::initializer_list<std::span<const ValueGraph::Id>> ends) {
  ValueGraph::Node& n = g_.nodes[node];
  n.first = static_cast<std::uint32_t>(g_.ends.size());
  for (std::span<const ValueGraph::Id> list : ends)
    for (ValueGraph::Id id : list)
      if (id != ValueGraph::scalar) g_.ends.push_back(id);
  n.count = static_cast<std::uint32_t>(g_.ends.size()) - n.first;
  // Inside a region that is manual over all axes, nothing can propagate.
  if (rule == RuleTable::none || g_.scopes[n.scope].barred == all_) return;
  if (g_.rules[rule].tensors().size() != n.count)
    throw InternalError("a rule of " + std::to_string(g_.rules[rule].tensors().size()) +
                        " values joins " + std::to_string(n.count));
  n.rule = rule;
}

std::vector<ValueGraph::Id> GraphBuilder::walk(const Program& p, ProgramPtr hold,
                                               std::span<const ValueGraph::Id> inputs,
                                               std::size_t parent, std::size_t equation,
                                               AtomSet barred) {
  Frame f{p, static_cast<std::uint32_t>(g_.scopes.size()), {}};
  ValueGraph::Scope& scope = g_.scopes.emplace_back();
  scope.program = &p;
  scope.hold = std::move(hold);
  scope.barred = barred;
  scope.of.assign(p.types.size(), ValueGraph::scalar);
  f.now = scope.of;
  if (f.scope != 0) g_.nested[{parent, equation}].push_back(f.scope);
  // A scalar with a requested placement is a value of its own that takes no part in propagation.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    define(f, p.inputs[i], inputs[i]);
    if (p.types[p.inputs[i]].shape.empty()) f.now[p.inputs[i]] = ValueGraph::scalar;
  }
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    const Equation& eqn = p.equations[k];
    if (eqn.op->flow)
      flow(f, k, eqn, eqn.op->flow(eqn.attrs));
    else if (eqn.op->constrains)
      constraint(f, k, eqn);
    else
      plain(f, k, eqn);
  }
  std::vector<ValueGraph::Id> outputs;
  for (Var v : p.outputs) outputs.push_back(f.now[v]);
  g_.scopes[f.scope].outputs = outputs;
  return outputs;
}

void GraphBuilder::define(Frame& f, Var v, ValueGraph::Id id) {
  g_.scopes[f.scope].of[v] = f.now[v] = id;
}

void GraphBuilder::plain(Frame& f, std::size_t k, const Equation& eqn) {
  const AtomSet barred = g_.scopes[f.scope].barred;
  operands_.clear();
  results_.clear();
  for (std::size_t i = 0; i < eqn.inputs.size(); ++i)
    operands_.push_back(read(f, k, i, eqn.inputs[i]));
  bool any = false;
  const bool made_of_scalars = std::all_of(operands_.begin(), operands_.end(),
                                           [](auto id) { return id == ValueGraph::scalar; });
  for (Var v : eqn.outputs) {
    const ValueGraph::Id id = value(f.program.types[v].shape.rank(), barred);
    any = any || id != ValueGraph::scalar;
    if (id != ValueGraph::scalar)
      values_[id].split = made_of_scalars && eqn.op->cheap && eqn.op->sharding;
    define(f, v, id);
    results_.push_back(id);
  }
  if (made_of_scalars) return;
  if (!any && eqn.inputs.size() < 2) return;
  const std::uint32_t rule = rules_.of(f.program, eqn);
  if (rule == RuleTable::none) return;
  connect(reserve(f, k), rule, {operands_, results_});
}

// The result has the spec from the start. The placement is also requested where the operand is
// produced, unless the operand is shared by control flow or has other requests.
void GraphBuilder::constraint(Frame& f, std::size_t k, const Equation& eqn) {
  const Constraint c = eqn.op->constrains(eqn.attrs);
  const Var x = eqn.inputs[0];
  const int rank = f.program.types[x].shape.rank();
  if (rank == 0) return define(f, eqn.outputs[0], ValueGraph::scalar);
  // The constraint's mesh may have axes of this mesh or sub-axes.
  for (std::size_t i = 0; i < c.mesh->axes.size(); ++i) {
    std::int64_t there = 0;
    for (const MeshShape* m : {&mesh_.mesh(), &mesh_.atom_mesh()})
      if (const int axis = m->find(c.mesh->axes[i]); axis >= 0)
        there = m->sizes[static_cast<std::size_t>(axis)];
    if (there != c.mesh->sizes[i])
      throw InternalError("a constraint's mesh has " + std::to_string(c.mesh->sizes[i]) +
                          " devices along '" + c.mesh->axes[i] + "', the program's " +
                          std::to_string(there));
  }
  const AtomSet barred = g_.scopes[f.scope].barred;
  Draft d{mesh_.placement(c.spec, rank), 0, barred};
  for (Atoms& dim : d.placement.dims)
    dim = Atoms(dim.begin(),
                std::find_if(dim.begin(), dim.end(), [&](Atom a) { return barred.contains(a); }));
  for (int i = 0; i < rank; ++i)
    if (std::find(c.open.begin(), c.open.end(), i) == c.open.end())
      d.closed |= std::uint64_t{1} << i;
  const bool open = !c.open.empty();
  const ValueGraph::Id in = read(f, k, 0, x), out = value(drafts_.id(std::move(d)));
  define(f, eqn.outputs[0], out);
  values_[out].asked = true;
  const auto asked = static_cast<std::uint32_t>(g_.asked.size());
  g_.asked.push_back({out, Origin::Kind::constraint, static_cast<std::uint32_t>(k), f.scope});
  if (!open) wishes_.push_back({in, out, asked});
  // The placement of a loop-carried value is decided by its initial value and by the iterations. A
  // constraint on it therefore applies only to the readers after the constraint.
  const bool shared = values_[in].shared;
  if (shared) f.now[x] = out;
  connect(
      reserve(f, k),
      rules_.identity(f.program.types[x].shape, 1, true, shared ? Toward::results : Toward::all),
      {std::array{in}, std::array{out}});
}

void GraphBuilder::grant_wishes() {
  std::stable_sort(wishes_.begin(), wishes_.end(),
                   [](const Wish& a, const Wish& b) { return a.value < b.value; });
  for (std::size_t i = 0, end; i < wishes_.size(); i = end) {
    const Wish& w = wishes_[i];
    const DraftTable::Id wish = g_.drafts[w.like];
    bool agreed = !values_[w.value].asked && !values_[w.value].shared;
    for (end = i; end < wishes_.size() && wishes_[end].value == w.value; ++end)
      agreed = agreed && g_.drafts[wishes_[end].like] == wish;
    if (!agreed || g_.drafts[w.value] == wish) continue;
    g_.drafts[w.value] = wish;
    ValueGraph::Asked a = g_.asked[w.asked];
    a.value = w.value;
    g_.asked.push_back(a);
  }
}

void GraphBuilder::finish() {
  grant_wishes();
  std::erase_if(g_.nodes, [](const ValueGraph::Node& n) { return n.rule == ValueGraph::none; });
  g_.starts.assign(values_.size() + 1, 0);
  for (ValueGraph::Node& n : g_.nodes) {
    const std::size_t operands = g_.rules[n.rule].operands();
    for (std::size_t i = 0; i < n.count; ++i) {
      const ValueGraph::Id id = g_.ends[n.first + i];
      ++g_.starts[id + 1];
      if (i < operands) n.read_once = n.read_once && values_[id].readers < 2;
    }
  }
  for (std::size_t v = 0; v + 1 < g_.starts.size(); ++v) g_.starts[v + 1] += g_.starts[v];
  g_.around.resize(g_.starts.back());
  std::vector<std::uint32_t> next(g_.starts.begin(), g_.starts.end() - 1);
  for (std::uint32_t k = 0; k < g_.nodes.size(); ++k) {
    const ValueGraph::Node& n = g_.nodes[k];
    for (std::size_t i = 0; i < n.count; ++i) g_.around[next[g_.ends[n.first + i]]++] = k;
  }
}

}  // namespace tessera::inline v0::spmd
