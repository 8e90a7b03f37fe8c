#include "explain/listing.h"

#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::explain {

namespace {

std::string name_of(Var v) { return "%" + std::to_string(v); }

// A placement without partial results and without axes on dimensions that cannot be cut.
spmd::Placement fitted(spmd::Placement p, const Shape& shape) {
  p.unreduced = {};
  for (int d = 0; d < shape.rank(); ++d)
    if (shape[d] < 2) p.dims[static_cast<std::size_t>(d)].clear();
  return p;
}

}  // namespace

Listing::Listing(const ProgramOnMesh& divided, const Question& question, const PlanOptions& options)
    : d_(divided), question_(question), options_(options) {
  if (d_.made) {
    scope(0, 0);
    for (std::size_t i = 0; i < d_.inputs.size(); ++i) {
      const Type& type = d_.whole->types[d_.whole->inputs[i]];
      if (!d_.inputs[i].is_replicated() || type.bytes() < options_.large) continue;
      const bool asked = i < question_.cutting->inputs.size() && question_.cutting->inputs[i];
      wholes.push_back({question_.inputs[i], to_string(type), type.bytes(), "argument", "",
                        asked ? "asked for" : "no value that is cut reaches it"});
    }
  } else {
    program(*d_.simplified, 0);
  }
  std::stable_sort(wholes.begin(), wholes.end(),
                   [](const PlannedWhole& a, const PlannedWhole& b) { return a.bytes > b.bytes; });
}

std::size_t Listing::index_of(const Equation* equation) const {
  const auto it = index_.find(equation);
  return it == index_.end() ? PlannedCollective::none : it->second;
}

// Adds an equation without its results.
PlannedEquation& Listing::listed(const Equation& eqn, int depth) {
  index_[&eqn] = equations.size();
  PlannedEquation& e = equations.emplace_back();
  e.depth = depth;
  e.op = eqn.op->shown();
  e.line = to_string(eqn.loc);
  e.scope = eqn.scope;
  for (Var v : eqn.inputs) e.operands.push_back(name_of(v));
  return e;
}

void Listing::scope(std::size_t number, int depth) {
  const spmd::Propagation& where = *d_.made->where;
  const Program& p = where.program(number);
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    const Equation& eqn = p.equations[k];
    PlannedEquation& e = listed(eqn, depth);
    for (Var v : eqn.outputs) {
      const Type& type = p.types[v];
      const spmd::Placement at = fitted(where.of(v, number), type.shape);
      e.results.push_back({name_of(v), to_string(type), d_.spec(at), d_.part(type, at).bytes()});
      if (at.is_replicated() && type.bytes() >= options_.large) whole(p, number, eqn, v);
    }
    for (std::uint32_t inside : where.nested(number, k)) scope(inside, depth + 1);
  }
}

// Lists a program on one device, or one that the user divided.
void Listing::program(const Program& p, int depth) {
  for (const Equation& eqn : p.equations) {
    PlannedEquation& e = listed(eqn, depth);
    for (Var v : eqn.outputs)
      e.results.push_back({name_of(v), to_string(p.types[v]), "", p.types[v].bytes()});
    if (const std::optional<Flow> flow = flow_of(eqn))
      for (const ProgramPtr& inside : flow->programs) program(*inside, depth + 1);
  }
}

void Listing::whole(const Program& p, std::size_t scope, const Equation& eqn, Var v) {
  const spmd::Propagation& where = *d_.made->where;
  // Constants, and values computed from scalars, are not listed: each device computes only its
  // part.
  if (std::all_of(eqn.inputs.begin(), eqn.inputs.end(),
                  [&](Var u) { return p.types[u].shape.empty(); }))
    return;
  std::string why;
  if (eqn.op->constrains) {
    why = "asked for by a constraint";
  } else {
    for (Var u : eqn.inputs) {
      const spmd::Placement at = fitted(where.of(u, scope), p.types[u].shape);
      if (at.is_replicated()) continue;
      why = p.types[u].shape == p.types[v].shape
                ? "its readers want it whole"
                : "operand " + name_of(u) + " is " + d_.spec(at) +
                      ", along a dimension that the result lacks or cannot have in parts";
      break;
    }
    if (why.empty()) why = "its operands are whole";
  }
  PlannedWhole whole{name_of(v), to_string(p.types[v]), p.types[v].bytes(), {}, {}, why};
  whole.op = eqn.op->name;
  whole.line = to_string(eqn.loc);
  wholes.push_back(std::move(whole));
}

namespace {

// Names the value for which the sharding was requested: an argument or result, by its key path, or
// a value inside the program.
std::string asked_of(const spmd::Origin& origin, const ProgramOnMesh& d, const Question& q) {
  using Kind = spmd::Origin::Kind;
  if (origin.kind == Kind::input) return q.inputs[origin.index];
  if (origin.kind == Kind::output) return q.outputs[origin.index];
  const Program& scope = d.made->where->program(origin.scope);
  const Equation& eqn = scope.equations[origin.index];
  // Requests for arguments and results are also present in the program as constraints.
  if (origin.scope == 0 && eqn.op->constrains) {
    const auto in = std::find(scope.inputs.begin(), scope.inputs.end(), eqn.inputs[0]);
    if (in != scope.inputs.end())
      return q.inputs[static_cast<std::size_t>(in - scope.inputs.begin())];
    const auto out = std::find(scope.outputs.begin(), scope.outputs.end(), eqn.outputs[0]);
    if (out != scope.outputs.end())
      return q.outputs[static_cast<std::size_t>(out - scope.outputs.begin())];
  }
  const std::string line = to_string(eqn.loc);
  return (eqn.op->constrains ? "with_sharding_constraint" : eqn.op->shown()) +
         (line.empty() ? "" : " at " + line);
}

// For example "follows args[1] through dot_general, add". A long path is abbreviated.
std::string way_of(const spmd::Origin& origin, const ProgramOnMesh& d, const Question& q) {
  constexpr std::size_t kMost = 8, kEnds = 3;
  std::string s = "follows " + asked_of(origin, d, q);
  const std::size_t n = origin.steps.size();
  const char* separator = " through ";
  for (std::size_t i = 0; i < n; ++i) {
    if (n > kMost && i == kEnds) {
      s += ", " + std::to_string(n - 2 * kEnds) + " more";
      i = n - kEnds;
    }
    const Program& p = d.made->where->program(origin.steps[i].scope);
    const std::size_t equation = origin.steps[i].equation;
    s += separator + (equation < p.equations.size() ? p.equations[equation].op->shown() : "result");
    separator = ", ";
  }
  return s;
}

std::vector<PlannedEnd> ends(const ProgramOnMesh& d, const Question& q, bool input) {
  const Program& p = d.placed();
  const std::vector<Var>& vars = input ? p.inputs : p.outputs;
  const std::vector<spmd::Placement>& at = input ? d.inputs : d.outputs;
  const std::vector<std::string>& names = input ? q.inputs : q.outputs;
  std::vector<PlannedEnd> all;
  for (std::size_t i = 0; i < vars.size(); ++i) {
    const Type& type = p.types[vars[i]];
    const Type part = d.part(type, at[i]);
    PlannedEnd e{names[i], to_string(type), to_string(part), d.spec(at[i]), part.bytes(), false,
                 ""};
    if (q.cutting) {
      const auto& asked = input ? q.cutting->inputs : q.cutting->outputs;
      e.asked = i < asked.size() && asked[i].has_value();
      for (int dim = 0; dim < type.shape.rank() && !e.asked && e.why.empty(); ++dim)
        if (const spmd::Atoms& atoms = at[i].dims[static_cast<std::size_t>(dim)]; !atoms.empty())
          if (const auto origin = d.made->where->why(vars[i], dim, atoms[0]))
            e.why = way_of(*origin, d, q);
    }
    all.push_back(std::move(e));
  }
  return all;
}

}  // namespace

std::vector<PlannedEnd> arguments_of(const ProgramOnMesh& d, const Question& q) {
  return ends(d, q, true);
}
std::vector<PlannedEnd> results_of(const ProgramOnMesh& d, const Question& q) {
  return ends(d, q, false);
}

}  // namespace tessera::inline v0::explain
