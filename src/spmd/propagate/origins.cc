// Explains where the axes of a placement came from, by following the log of the propagation.
#include "spmd/propagate/projection.h"
#include "spmd/propagate/state.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

bool has(const Draft& draft, int dim, Atom atom) {
  const Atoms& atoms = draft.placement.dims[static_cast<std::size_t>(dim)];
  return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
}

// The factor of the tensor's dimension that the atom partitions.
int factor_of(const CutRule& rule, std::size_t tensor, int dim, Atom atom, const Draft& draft,
              const AtomMesh& mesh) {
  std::vector<Draft> others;
  std::vector<const Draft*> drafts;
  for (const CutRule::Tensor& t : rule.tensors())
    others.push_back({Placement::replicated(static_cast<int>(t.dims.size())), 0, {}});
  others[tensor] = draft;
  for (const Draft& d : others) drafts.push_back(&d);
  Projection p(mesh);
  p.read(rule, drafts);
  for (std::uint16_t f : rule.tensors()[tensor].dims[static_cast<std::size_t>(dim)].factors)
    for (Atom a : p.axes(tensor, f))
      if (a == atom) return f;
  return -1;
}

class Walk {
 public:
  explicit Walk(const Propagation::State& s) : s_(s) {}

  std::optional<Origin> from(ValueGraph::Id value, int dim, Atom atom) {
    if (!has(s_.table[s_.drafts[value]], dim, atom)) return std::nullopt;
    Origin origin;
    std::uint32_t before = LogEntry::none;
    for (;;) {
      const std::uint32_t k = grown(value, dim, atom, before);
      if (k == LogEntry::none) break;
      const LogEntry& e = s_.log[k];
      const ValueGraph::Node& n = s_.graph.nodes[e.node];
      origin.steps.push_back({n.scope, n.equation, e.rung, e.aggressive});
      if (!source(e, k, value, dim, atom)) break;
      before = k;
    }
    std::reverse(origin.steps.begin(), origin.steps.end());
    for (const ValueGraph::Asked& a : s_.graph.asked) {
      if (a.value != value) continue;
      origin.kind = a.kind;
      origin.index = a.index;
      origin.scope = a.scope;
    }
    return origin;
  }

 private:
  // The entry before `end` that added the atom to the dimension; none if it was there from the
  // start.
  std::uint32_t grown(ValueGraph::Id value, int dim, Atom atom, std::uint32_t end) const {
    for (std::uint32_t k = s_.last[value]; k != LogEntry::none; k = s_.log[k].previous)
      if (k < end && has(s_.table[s_.log[k].after], dim, atom) &&
          !has(s_.table[s_.log[k].before], dim, atom))
        return k;
    return LogEntry::none;
  }

  // The value's draft when entry k was made.
  DraftTable::Id at(ValueGraph::Id value, std::uint32_t k) const {
    DraftTable::Id now = s_.last[value] == LogEntry::none ? s_.drafts[value] : LogEntry::none;
    for (std::uint32_t i = s_.last[value]; i != LogEntry::none; i = s_.log[i].previous) {
      if (i < k) return s_.log[i].after;
      now = s_.log[i].before;
    }
    return now;
  }

  // Moves on to the value of the entry's node that had the atom along the same factor.
  bool source(const LogEntry& e, std::uint32_t k, ValueGraph::Id& value, int& dim,
              Atom atom) const {
    const ValueGraph::Node& n = s_.graph.nodes[e.node];
    const CutRule& rule = s_.graph.rules[n.rule];
    for (std::size_t t = 0; t < n.count; ++t) {
      if (s_.graph.ends[n.first + t] != e.value) continue;
      const int f = factor_of(rule, t, dim, atom, s_.table[e.after], s_.mesh);
      if (f < 0) continue;
      for (std::size_t o = 0; o < n.count; ++o) {
        const ValueGraph::Id other = s_.graph.ends[n.first + o];
        const CutRule::Place& place = rule.place(o, static_cast<std::size_t>(f));
        if (!place || (other == e.value && place.dim == dim)) continue;
        const Draft& draft = s_.table[at(other, k)];
        if (!has(draft, place.dim, atom) ||
            factor_of(rule, o, place.dim, atom, draft, s_.mesh) != f)
          continue;
        value = other;
        dim = place.dim;
        return true;
      }
    }
    return false;
  }

  const Propagation::State& s_;
};

}  // namespace

std::optional<Origin> Propagation::why(Var v, int dim, Atom atom, std::size_t scope) const {
  return Walk(*state_).from(state_->graph.scopes.at(scope).of.at(v), dim, atom);
}

std::string Propagation::to_string(const Origin& origin) const {
  auto name = [&](std::size_t scope, std::size_t equation) {
    const Program& p = program(scope);
    return equation < p.equations.size() ? p.equations[equation].op->name : std::string("result");
  };
  std::string s;
  switch (origin.kind) {
    case Origin::Kind::input: s = "input " + std::to_string(origin.index); break;
    case Origin::Kind::output: s = "output " + std::to_string(origin.index); break;
    case Origin::Kind::constraint:
    case Origin::Kind::region:
      s = name(origin.scope, origin.index) + " in equation " + std::to_string(origin.index);
      break;
  }
  // A long path is abbreviated.
  constexpr std::size_t most = 8, ends = 3;
  const std::size_t n = origin.steps.size();
  const char* separator = ", through ";
  for (std::size_t i = 0; i < n; ++i) {
    if (n > most && i == ends) {
      s += ", " + std::to_string(n - 2 * ends) + " more";
      i = n - ends;
    }
    const Origin::Step& step = origin.steps[i];
    s += separator + name(step.scope, step.equation) + " (rung " + std::to_string(step.rung) +
         (step.aggressive ? ", aggressive)" : ")");
    separator = ", ";
  }
  return s;
}

}  // namespace tessera::inline v0::spmd
