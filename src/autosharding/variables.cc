#include "autosharding/variables.h"

#include "autosharding/kept_beside.h"
#include "explain/paths.h"

#include <algorithm>
#include <map>

namespace tessera::inline v0::autosharding {

namespace {

// The root's index, "[0" for "args[0]/w" and for "args[0]"; empty for "result".
std::string place_of(const std::string& path) {
  const std::size_t open = path.find('['), close = path.find(']');
  return open == std::string::npos || open > path.find('/') ? std::string()
                                                            : path.substr(open, close - open);
}
bool ends_with_path(const std::string& path, const std::string& rest) {
  return !rest.empty() && path.size() >= rest.size() &&
         path.compare(path.size() - rest.size(), rest.size(), rest) == 0;
}
bool same(const std::optional<spmd::RequestedSpec>& a,
          const std::optional<spmd::RequestedSpec>& b) {
  return a ? b && a->spec == b->spec && a->open == b->open : !b;
}

}  // namespace

Space::Space(const explain::Question& question, const MeshRef& mesh,
             const std::vector<std::optional<spmd::RequestedSpec>>& settled, std::size_t arguments)
    : atoms_(*mesh, spmd::AtomMesh::Parts::axes),
      of_input_(question.program->inputs.size(), -1),
      of_output_(question.program->outputs.size(), -1) {
  for (std::size_t a = 0; a < mesh->axes.size(); ++a)
    if (mesh->sizes[a] > 1) axes_.push_back(static_cast<int>(a));
  constexpr std::size_t kFew = 12;
  tie_arguments(question, arguments, settled, false);
  if (variables_.size() > kFew) {
    variables_.clear();
    tie_arguments(question, arguments, settled, true);
  }
  tie_results(question);
}

void Space::tie_arguments(const explain::Question& question, std::size_t arguments,
                          const std::vector<std::optional<spmd::RequestedSpec>>& settled,
                          bool layers) {
  const auto name_of = [&](std::size_t i) {
    return layers ? explain::pattern_of(question.inputs[i]) : question.inputs[i];
  };
  const Program& p = *question.program;
  const std::optional<spmd::RequestedSpec> free;
  const auto settled_at = [&](std::size_t i) -> const std::optional<spmd::RequestedSpec>& {
    return i < settled.size() ? settled[i] : free;
  };
  const std::vector<std::size_t> beside = kept_beside(question, arguments);
  // The variables of each pattern; one pattern has several variables if shapes or settled specs
  // differ.
  std::multimap<std::string, std::size_t> known;
  for (std::size_t i = 0; i < arguments; ++i) {
    if (beside[i] != i) continue;
    const Type& t = p.types[p.inputs[i]];
    const std::string pattern = name_of(i);
    const auto [first, last] = known.equal_range(pattern);
    const auto it = std::find_if(first, last, [&](const auto& entry) {
      const Variable& v = variables_[entry.second];
      return v.type.shape == t.shape && same(v.settled, settled_at(i));
    });
    std::size_t number = variables_.size();
    if (it == last) {
      known.emplace(pattern, number);
      variables_.push_back({question.inputs[i], t, {}, {}, settled_at(i)});
    } else {
      number = it->second;
      variables_[number].name = pattern;
    }
    variables_[number].inputs.push_back(i);
  }
  // A variable is tied to another one of the same shape whose path is a suffix of its path. The
  // variable with the shortest such path is the parameter.
  std::vector<std::string> rests;
  for (const Variable& v : variables_) rests.push_back(explain::behind_root(name_of(v.inputs[0])));
  std::vector<std::size_t> goes_with(variables_.size());
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    goes_with[v] = v;
    for (std::size_t w = 0; w < variables_.size(); ++w) {
      if (w == v || variables_[v].type.shape != variables_[w].type.shape ||
          !same(variables_[v].settled, variables_[w].settled) ||
          !ends_with_path(rests[v], rests[w]))
        continue;
      const bool shorter = rests[w].size() < rests[goes_with[v]].size();
      const bool earlier = rests[w].size() == rests[goes_with[v]].size() && w < goes_with[v];
      if (shorter || earlier) goes_with[v] = w;
    }
  }
  std::vector<Variable> tied;
  std::vector<std::size_t> number(variables_.size());
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    if (goes_with[v] != v) continue;
    number[v] = tied.size();
    tied.push_back(variables_[v]);
  }
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    if (goes_with[v] == v) continue;
    Variable& into = tied[number[goes_with[v]]];
    into.inputs.insert(into.inputs.end(), variables_[v].inputs.begin(), variables_[v].inputs.end());
  }
  variables_ = std::move(tied);
  for (std::size_t v = 0; v < variables_.size(); ++v)
    for (std::size_t i : variables_[v].inputs) of_input_[i] = static_cast<int>(v);
  for (std::size_t i = 0; i < arguments; ++i)
    if (beside[i] != i) {
      of_input_[i] = of_input_[beside[i]];
      variables_[static_cast<std::size_t>(of_input_[i])].inputs.push_back(i);
    }
  for (Variable& v : variables_) std::sort(v.inputs.begin(), v.inputs.end());
}

// A result with the path of an argument is that argument's new value. If several arguments match,
// the one with the result's own root index is preferred, then the first.
void Space::tie_results(const explain::Question& question) {
  const Program& p = *question.program;
  std::multimap<std::string, std::size_t> by_rest;
  for (std::size_t i = 0; i < question.inputs.size(); ++i)
    if (of_input_[i] >= 0) by_rest.emplace(explain::behind_root(question.inputs[i]), i);
  for (std::size_t o = 0; o < question.outputs.size(); ++o) {
    const std::string rest = explain::behind_root(question.outputs[o]);
    const std::string place = place_of(question.outputs[o]);
    const Shape& shape = p.types[p.outputs[o]].shape;
    const auto [first, last] = by_rest.equal_range(rest);
    const Variable* found = nullptr;
    for (auto it = first; it != last; ++it) {
      const std::size_t i = it->second;
      const bool here = !place.empty() && place_of(question.inputs[i]) == place;
      if (p.types[p.inputs[i]].shape != shape || (rest.empty() && !here)) continue;
      if (found && !here) continue;
      found = &variables_[static_cast<std::size_t>(of_input_[i])];
      if (here) break;
    }
    if (!found) continue;
    const auto number = static_cast<std::size_t>(found - variables_.data());
    of_output_[o] = static_cast<int>(number);
    variables_[number].outputs.push_back(o);
  }
}

bool Space::divides(const Choice& c, std::size_t variable) const {
  const Shape& shape = variables_[variable].type.shape;
  for (int d = 0; d < shape.rank(); ++d) {
    std::int64_t parts = 1;
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if (at(c, variable, a) == d) parts *= devices(a);
    if (shape[static_cast<std::size_t>(d)] % parts != 0 ||
        shape[static_cast<std::size_t>(d)] < parts)
      return false;
  }
  return true;
}

bool Space::put(Choice& c, std::size_t variable, std::size_t axis, int dim) const {
  if (variables_[variable].settled || dim >= variables_[variable].type.shape.rank()) return false;
  const std::int8_t before = at(c, variable, axis);
  at(c, variable, axis) = static_cast<std::int8_t>(dim);
  if (divides(c, variable)) return true;
  at(c, variable, axis) = before;
  return before == dim;
}

std::vector<Choice> Space::options(std::size_t variable) const {
  std::vector<Choice> all{Choice(axes_.size(), -1)};
  if (variables_[variable].settled) return all;
  const int rank = variables_[variable].type.shape.rank();
  Choice c = whole();
  Choice now(axes_.size(), -1);
  for (;;) {
    std::size_t a = 0;
    while (a < axes_.size() && now[a] == rank - 1) now[a++] = -1;
    if (a == axes_.size()) return all;
    ++now[a];
    std::copy(now.begin(), now.end(),
              c.begin() + static_cast<std::ptrdiff_t>(variable * axes_.size()));
    if (divides(c, variable)) all.push_back(now);
  }
}

double Space::choices() const {
  double n = 1;
  for (std::size_t v = 0; v < variables_.size(); ++v) n *= static_cast<double>(options(v).size());
  return n;
}

spmd::Placement Space::placement(const Choice& c, std::size_t variable) const {
  const Variable& v = variables_[variable];
  if (v.settled) return atoms_.placement(v.settled->spec, v.type.shape.rank());
  spmd::Placement p = spmd::Placement::replicated(v.type.shape.rank());
  for (std::size_t a = 0; a < axes_.size(); ++a)
    if (const int d = at(c, variable, a); d >= 0)
      for (spmd::Atom atom : atoms_.atoms_of(axes_[a]))
        p.dims[static_cast<std::size_t>(d)].push_back(atom);
  return p;
}

spmd::RequestedSpec Space::wanted(const Choice& c, std::size_t variable) const {
  const Variable& v = variables_[variable];
  return v.settled ? *v.settled : spmd::RequestedSpec{atoms_.spec(placement(c, variable))};
}

}  // namespace tessera::inline v0::autosharding
