// Adds loops, branches, calls and regions to the value graph.
#include "spmd/propagate/graph_builder.h"
#include "spmd/region/shard_map.h"

namespace tessera::inline v0::spmd {

void GraphBuilder::flow(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow) {
  switch (flow.kind) {
    case Flow::Kind::call: return call(f, k, eqn, flow);
    case Flow::Kind::branch: return branch(f, k, eqn, flow);
    case Flow::Kind::scan:
    case Flow::Kind::loop: return loop(f, k, eqn, flow);
    case Flow::Kind::region: return region(f, k, eqn);
  }
}

ValueGraph::Id GraphBuilder::read_output(std::uint32_t scope, std::size_t i) {
  const ValueGraph::Scope& s = g_.scopes[scope];
  Id id = s.outputs[i];
  if (id == ValueGraph::scalar) return id;
  if (values_[id].split && values_[id].readers > 0) id = value(g_.drafts[id]);
  ++values_[id].readers;
  if (id != s.of[s.program->outputs[i]]) g_.read_as[{scope, s.program->equations.size(), i}] = id;
  return id;
}

// Walks the program as if it were inlined.
void GraphBuilder::call(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow) {
  std::vector<Id> in;
  for (Var v : eqn.inputs) in.push_back(f.now[v]);
  const std::vector<Id> out =
      walk(*flow.body(), flow.body(), in, f.scope, k, g_.scopes[f.scope].barred);
  for (std::size_t i = 0; i < out.size(); ++i) define(f, eqn.outputs[i], out[i]);
}

// Operands are shared inside and outside; a result is tied to the outputs of all branches.
void GraphBuilder::branch(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow) {
  const AtomSet barred = g_.scopes[f.scope].barred;
  std::vector<Id> in;
  for (std::size_t i = 1; i < eqn.inputs.size(); ++i) in.push_back(f.now[eqn.inputs[i]]);
  std::vector<std::uint32_t> scopes;
  for (const ProgramPtr& p : flow.programs) {
    scopes.push_back(static_cast<std::uint32_t>(g_.scopes.size()));
    walk(*p, p, in, f.scope, k, barred);
  }
  for (std::size_t i = 0; i < eqn.outputs.size(); ++i) {
    const Shape& shape = f.program.types[eqn.outputs[i]].shape;
    const Id out = value(shape.rank(), barred);
    values_[out].shared = out != ValueGraph::scalar;
    define(f, eqn.outputs[i], out);
    if (out == ValueGraph::scalar) continue;
    std::vector<Id> from;
    for (std::uint32_t s : scopes) from.push_back(read_output(s, i));
    connect(reserve(f, k), rules_.identity(shape, from.size(), true), {from, std::array{out}});
  }
}

// Loop constants are shared inside and outside. A carried slot is one value, tied to both its
// initial value and the output of an iteration. A row is its stacked array without the dimension
// that the loop iterates over.
void GraphBuilder::loop(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow) {
  const AtomSet barred = g_.scopes[f.scope].barred;
  const Program& body = *flow.body();
  const std::size_t first_row = flow.cond_consts + flow.consts + flow.carry;
  auto shape_of = [&](Var v) -> const Shape& { return f.program.types[v].shape; };

  std::vector<Id> in, carries;
  std::vector<std::uint32_t> nodes;
  for (std::size_t i = flow.cond_consts; i < flow.cond_consts + flow.consts; ++i)
    in.push_back(f.now[eqn.inputs[i]]);
  for (std::size_t i = 0; i < flow.carry; ++i) {
    const Id owner = value(shape_of(eqn.inputs[flow.carry_operand(i)]).rank(), barred);
    values_[owner].shared = owner != ValueGraph::scalar;
    in.push_back(owner);
    carries.push_back(owner);
    nodes.push_back(reserve(f, k));
  }
  for (std::size_t i = first_row; i < eqn.inputs.size(); ++i) {
    const Var v = eqn.inputs[i];
    const Id row = value(shape_of(v).rank() - 1, barred);
    values_[row].shared = row != ValueGraph::scalar;
    in.push_back(row);
    if (row == ValueGraph::scalar) continue;
    connect(reserve(f, k), rules_.row(shape_of(v), true),
            {std::array{read(f, k, i, v)}, std::array{row}});
  }
  if (flow.kind == Flow::Kind::loop) {
    std::vector<Id> tested;
    for (std::size_t i = 0; i < flow.cond_consts; ++i) tested.push_back(f.now[eqn.inputs[i]]);
    tested.insert(tested.end(), carries.begin(), carries.end());
    walk(*flow.condition(), flow.condition(), tested, f.scope, k, barred);
  }
  const auto inside = static_cast<std::uint32_t>(g_.scopes.size());
  walk(body, flow.body(), in, f.scope, k, barred);
  for (std::size_t i = 0; i < flow.carry; ++i) {
    define(f, eqn.outputs[i], carries[i]);
    if (carries[i] == ValueGraph::scalar) continue;
    const std::size_t operand = flow.carry_operand(i);
    const Id start = read(f, k, operand, eqn.inputs[operand]), next = read_output(inside, i);
    connect(nodes[i], rules_.identity(shape_of(eqn.outputs[i]), 2, true),
            {std::array{start, next}, std::array{carries[i]}});
  }
  for (std::size_t i = flow.carry; i < eqn.outputs.size(); ++i) {
    const Shape& shape = shape_of(eqn.outputs[i]);
    const Id stacked = value(shape.rank(), barred);
    values_[stacked].shared = true;
    define(f, eqn.outputs[i], stacked);
    if (shape.rank() > 1)
      connect(reserve(f, k), rules_.row(shape, false),
              {std::array{read_output(inside, i)}, std::array{stacked}});
  }
}

ValueGraph::Id GraphBuilder::region_end(const Spec& spec, int rank, AtomSet manual, AtomSet barred,
                                        std::size_t k, std::uint32_t scope) {
  if (rank == 0) return ValueGraph::scalar;
  Draft d{mesh_.placement(spec, rank), 0, barred};
  d.barred |= manual - d.placement.cut();
  const Id id = value(drafts_.id(std::move(d)));
  values_[id].asked = values_[id].shared = true;
  g_.asked.push_back({id, Origin::Kind::region, static_cast<std::uint32_t>(k), scope});
  return id;
}

// The body sees blocks, and may only use axes that are not manual in the region.
void GraphBuilder::region(Frame& f, std::size_t k, const Equation& eqn) {
  const ShardMap s(eqn.attrs);
  const AtomSet barred = g_.scopes[f.scope].barred;
  AtomSet manual;
  for (std::size_t i = 0; i < s.mesh.axes.size(); ++i) {
    const int axis = mesh_.mesh().find(s.mesh.axes[i]);
    if (axis < 0 || mesh_.mesh().sizes[static_cast<std::size_t>(axis)] != s.mesh.sizes[i])
      throw InternalError("a region over the axis '" + s.mesh.axes[i] + "' of size " +
                          std::to_string(s.mesh.sizes[i]) + ", which the program's mesh lacks");
    manual |= AtomSet(mesh_.atoms_of(axis));
  }
  auto parts = [&](const Spec& spec, int rank) {
    std::vector<std::int64_t> n;
    for (int d = 0; d < rank; ++d) n.push_back(s.mesh.size_of(spec.axes_of(d)));
    return n;
  };
  std::vector<Id> in;
  for (std::size_t i = 0; i < eqn.inputs.size(); ++i) {
    const Shape& whole = f.program.types[eqn.inputs[i]].shape;
    const Id entry = region_end(s.in_specs[i], whole.rank(), manual, barred, k, f.scope);
    const Id block = value(whole.rank(), barred | manual);
    in.push_back(block);
    if (entry == ValueGraph::scalar) continue;
    values_[block].shared = true;
    connect(reserve(f, k), rules_.identity(whole, 1, true),
            {std::array{read(f, k, i, eqn.inputs[i])}, std::array{entry}});
    connect(reserve(f, k), rules_.block(whole, parts(s.in_specs[i], whole.rank()), true),
            {std::array{entry}, std::array{block}});
  }
  const auto inside = static_cast<std::uint32_t>(g_.scopes.size());
  walk(*s.body, s.body, in, f.scope, k, barred | manual);
  for (std::size_t i = 0; i < eqn.outputs.size(); ++i) {
    const Shape& whole = f.program.types[eqn.outputs[i]].shape;
    const Id out = region_end(s.out_specs[i], whole.rank(), manual, barred, k, f.scope);
    define(f, eqn.outputs[i], out);
    if (out != ValueGraph::scalar)
      connect(reserve(f, k), rules_.block(whole, parts(s.out_specs[i], whole.rank()), false),
              {std::array{read_output(inside, i)}, std::array{out}});
  }
}

}  // namespace tessera::inline v0::spmd
