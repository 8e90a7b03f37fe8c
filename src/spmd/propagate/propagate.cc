#include "spmd/propagate/propagate.h"

#include "spmd/propagate/ladder.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

// The longest prefix that consists of whole axes and divides the dimension, but at least the
// requested axes.
Atoms trimmed(const Atoms& dim, std::int64_t extent, std::size_t asked, const AtomMesh& mesh) {
  std::size_t keep = asked;
  std::int64_t parts = 1;
  for (std::size_t i = 0; i < dim.size();) {
    const Atoms& axis = mesh.atoms_of(mesh.axis_of(dim[i]));
    if (dim.size() - i < axis.size() || !std::equal(axis.begin(), axis.end(), dim.begin() + i))
      break;
    parts *= mesh.size(axis);
    if (extent % parts != 0) break;
    i += axis.size();
    keep = std::max(keep, i);
  }
  return Atoms(dim.begin(), dim.begin() + keep);
}

DraftTable::Id trimmed(Propagation::State& s, ValueGraph::Id value, const Shape& shape,
                       const std::optional<RequestedPlacement>& wanted) {
  Draft d = s.table[s.drafts[value]];
  for (std::size_t i = 0; i < d.placement.dims.size(); ++i) {
    const std::size_t asked = wanted ? wanted->placement.dims[i].size() : 0;
    d.placement.dims[i] = trimmed(d.placement.dims[i], shape[i], asked, s.mesh);
  }
  return s.table.id(std::move(d));
}

std::optional<RequestedPlacement> at(const std::vector<std::optional<RequestedPlacement>>& all,
                                     std::size_t i) {
  return i < all.size() ? all[i] : std::nullopt;
}

// Continues from another propagation. It started with the same values, and each value has at least
// the axes that it started with.
void go_on(Propagation::State& s, const Propagation::State& from) {
  if (from.drafts.size() != s.drafts.size())
    throw InternalError("a propagation over " + std::to_string(from.drafts.size()) +
                        " values goes on in a program of " + std::to_string(s.drafts.size()));
  for (std::size_t v = 0; v < s.drafts.size(); ++v) {
    Draft d = s.table[s.drafts[v]];
    d.placement = from.table[from.drafts[v]].placement;
    s.drafts[v] = s.table.id(std::move(d));
  }
}

}  // namespace

Propagation propagate(const Program& program, const AtomMesh& mesh,
                      const PropagationOptions& options) {
  auto s = std::make_shared<Propagation::State>(mesh);
  s->graph = value_graph(program, mesh, options, s->table);
  s->drafts = s->graph.drafts;
  s->last.assign(s->drafts.size(), LogEntry::none);
  s->effort.nodes = s->graph.nodes.size();
  if (options.from) go_on(*s, options.from->state());
  Ladder(*s).climb(!options.from);
  s->effort.changes = s->log.size();
  auto seen = [&](ValueGraph::Id v, Var x, const std::optional<RequestedPlacement>& wanted) {
    return options.allow_uneven ? s->drafts[v] : trimmed(*s, v, program.types[x].shape, wanted);
  };
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    s->inputs.push_back(
        seen(s->graph.scopes[0].of[program.inputs[i]], program.inputs[i], at(options.inputs, i)));
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    s->outputs.push_back(seen(s->graph.outputs[i], program.outputs[i], at(options.outputs, i)));
  return Propagation(std::move(s));
}

std::size_t Propagation::scopes() const { return state_->graph.scopes.size(); }

const Program& Propagation::program(std::size_t scope) const {
  return *state_->graph.scopes.at(scope).program;
}

AtomSet Propagation::barred(std::size_t scope) const {
  return state_->graph.scopes.at(scope).barred;
}

std::span<const std::uint32_t> Propagation::nested(std::size_t scope, std::size_t equation) const {
  const auto it = state_->graph.nested.find({scope, equation});
  if (it == state_->graph.nested.end()) return {};
  return it->second;
}

std::uint32_t Propagation::number(Var v, std::size_t scope) const {
  return state_->drafts[state_->graph.scopes.at(scope).of.at(v)];
}

std::uint32_t Propagation::operand_number(std::size_t scope, std::size_t equation,
                                          std::size_t k) const {
  const ValueGraph& g = state_->graph;
  if (const auto it = g.read_as.find({scope, equation, k}); it != g.read_as.end())
    return state_->drafts[it->second];
  const Program& p = program(scope);
  return number(
      equation < p.equations.size() ? p.equations[equation].inputs.at(k) : p.outputs.at(k), scope);
}

const Placement& Propagation::of(Var v, std::size_t scope) const {
  return state_->table[number(v, scope)].placement;
}
const Placement& Propagation::operand(std::size_t scope, std::size_t equation,
                                      std::size_t k) const {
  return state_->table[operand_number(scope, equation, k)].placement;
}
const Placement& Propagation::input(std::size_t i) const {
  return state_->table[state_->inputs.at(i)].placement;
}
const Placement& Propagation::output(std::size_t i) const {
  return state_->table[state_->outputs.at(i)].placement;
}
const Propagation::Effort& Propagation::effort() const { return state_->effort; }

}  // namespace tessera::inline v0::spmd
