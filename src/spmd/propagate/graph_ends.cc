// Adds the program's inputs and outputs to the value graph, with their requested placements.
#include "spmd/propagate/graph_builder.h"

namespace tessera::inline v0::spmd {

ValueGraph value_graph(const Program& program, const AtomMesh& mesh,
                       const PropagationOptions& options, DraftTable& drafts) {
  ValueGraph g;
  GraphBuilder(g, mesh, drafts).program(program, options);
  return g;
}

void GraphBuilder::program(const Program& p, const PropagationOptions& options) {
  walk(p, nullptr, inputs(p, options), 0, 0, {});
  alike(p, options);
  outputs(p, options);
  finish();
}

// Dimensions with a later priority stay closed and empty, and their axes are barred for other
// dimensions.
ValueGraph::Id GraphBuilder::wanted(const RequestedPlacement& w, const Shape& shape,
                                    Origin::Kind kind, std::size_t index) {
  const std::size_t rank = shape.size();
  auto fits = [&](std::size_t n) { return n == 0 || n == rank; };
  const AtomSet used = w.placement.used();
  int atoms = w.placement.unreduced.size();
  for (const Atoms& dim : w.placement.dims) atoms += static_cast<int>(dim.size());
  if (w.placement.dims.size() != rank || !fits(w.open.size()) || !fits(w.priority.size()))
    throw InternalError("what is asked of a value of shape " + to_string(shape) + " is of " +
                        std::to_string(w.placement.dims.size()) + " dimensions, " +
                        std::to_string(w.open.size()) + " of them open or closed, " +
                        std::to_string(w.priority.size()) + " with priorities");
  if (atoms != used.size() || used.intersects(w.replicated))
    throw InternalError("an axis is asked for twice: " + mesh_.to_string(w.placement));
  if (rank == 0 && used.empty()) return ValueGraph::scalar;
  Draft d{w.placement, 0, w.replicated};
  const Id id = value(ValueGraph::none);
  const auto asked = static_cast<std::uint32_t>(g_.asked.size());
  for (std::size_t i = 0; i < rank; ++i) {
    const bool open = !w.open.empty() && w.open[i];
    const int priority = w.priority.empty() ? 0 : w.priority[i];
    if (!open || priority > 0) d.closed |= std::uint64_t{1} << i;
    if (priority == 0) continue;
    Atoms& dim = d.placement.dims[i];
    g_.hidden.push_back({id, static_cast<int>(i), priority, dim, open, asked});
    d.barred |= AtomSet(dim);
    dim.clear();
  }
  g_.drafts[id] = drafts_.id(std::move(d));
  values_[id].asked = true;
  g_.asked.push_back({id, kind, static_cast<std::uint32_t>(index), 0});
  return id;
}

std::vector<ValueGraph::Id> GraphBuilder::inputs(const Program& p,
                                                 const PropagationOptions& options) {
  std::vector<Id> in;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    const Shape& shape = p.types[p.inputs[i]].shape;
    in.push_back(i < options.inputs.size() && options.inputs[i]
                     ? wanted(*options.inputs[i], shape, Origin::Kind::input, i)
                     : value(shape.rank(), {}));
  }
  return in;
}

// An output with a requested placement is a separate value, because its variable may be an input or
// another output. If the request is complete, the placement is also requested where the output is
// produced.
void GraphBuilder::outputs(const Program& p, const PropagationOptions& options) {
  Frame f{p, 0, {}};
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const Id id = read_output(0, i);
    if (i >= options.outputs.size() || !options.outputs[i]) {
      g_.outputs.push_back(id);
      continue;
    }
    const RequestedPlacement& w = *options.outputs[i];
    const Shape& shape = p.types[p.outputs[i]].shape;
    const auto asked = static_cast<std::uint32_t>(g_.asked.size());
    const std::size_t hidden = g_.hidden.size();
    const Id out = wanted(w, shape, Origin::Kind::output, i);
    g_.outputs.push_back(out);
    if (shape.empty()) continue;
    bool open = !w.placement.unreduced.empty() || !w.replicated.empty();
    for (bool o : w.open) open = open || o;
    if (!open && g_.hidden.size() == hidden) wishes_.push_back({id, out, asked});
    connect(reserve(f, p.equations.size()), rules_.identity(shape, 1, true),
            {std::array{id}, std::array{out}});
  }
}

void GraphBuilder::alike(const Program& p, const PropagationOptions& options) {
  Frame f{p, 0, {}};
  for (const std::vector<Var>& group : options.alike) {
    std::vector<Id> all;
    for (Var v : group) {
      if (!(p.types[v].shape == p.types[group[0]].shape))
        throw InternalError("values that are to lie alike have the shapes " +
                            to_string(p.types[group[0]].shape) + " and " +
                            to_string(p.types[v].shape));
      all.push_back(g_.scopes[0].of[v]);
    }
    if (all.size() > 1 && all[0] != ValueGraph::scalar)
      connect(reserve(f, p.equations.size()),
              rules_.identity(p.types[group[0]].shape, all.size(), false), {all});
  }
}

}  // namespace tessera::inline v0::spmd
