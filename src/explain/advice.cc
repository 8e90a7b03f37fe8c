#include "explain/advice.h"

#include "explain/paths.h"
#include "explain/units.h"
#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>
#include <deque>
#include <set>

namespace tessera::inline v0::explain {

namespace {

/// Inputs and outputs of a program that are changed together.
struct Kind {
  std::vector<std::size_t> inputs, outputs;
  std::string name;
};
struct Alternative {
  const Kind* kind = nullptr;
  std::optional<spmd::Placement> placement;  // absent: request nothing
};

bool contains(const Program& p, const Equation* wanted) {
  return std::any_of(p.equations.begin(), p.equations.end(), [&](const Equation& eqn) {
    if (&eqn == wanted) return true;
    const std::optional<Flow> flow = flow_of(eqn);
    return flow && std::any_of(flow->programs.begin(), flow->programs.end(),
                               [&](const ProgramPtr& inside) { return contains(*inside, wanted); });
  });
}

class AdviceSearch {
 public:
  AdviceSearch(const Question& q, const ProgramOnMesh& d, const Work& now,
               const PlanOptions& options)
      : q_(q), d_(d), now_(now), options_(options) {}

  /// `value` is the largest value of the worst collective.
  std::string run(const PlannedCollective& worst, const PlannedValue& value,
                  const Equation* equation) {
    for (std::size_t i : equation ? inputs_behind(equation) : std::vector<std::size_t>{})
      add_kind(i);
    if (!equation)
      for (std::size_t i = 0; i < d_.outputs.size(); ++i)
        if (to_string(d_.whole->types[d_.whole->outputs[i]]) == value.type &&
            d_.spec(d_.outputs[i]) == value.to)
          add_output(i);
    std::vector<std::vector<Alternative>> by_kind;
    for (const Kind& k : kinds_) by_kind.push_back(alternatives(k, worst));
    std::string said;
    double best = 0.99 * (now_.compute_seconds + now_.communication_seconds);
    int left = options_.alternatives;
    // Try the most promising alternative of each kind first, then the second ones.
    for (std::size_t turn = 0; left > 0; ++turn) {
      bool any = false;
      for (const auto& list : by_kind) {
        if (turn >= list.size() || left == 0) continue;
        any = true;
        --left;
        if (std::optional<std::string> text = tried(list[turn], best)) said = std::move(*text);
      }
      if (!any) break;
    }
    return said;
  }

 private:
  // The inputs on which the equation depends, nearest first.
  std::vector<std::size_t> inputs_behind(const Equation* equation) const {
    const Program& p = d_.placed();
    const auto begin =
        std::find_if(p.equations.begin(), p.equations.end(), [&](const Equation& eqn) {
          if (&eqn == equation) return true;
          const std::optional<Flow> flow = flow_of(eqn);
          return flow &&
                 std::any_of(flow->programs.begin(), flow->programs.end(),
                             [&](const ProgramPtr& inside) { return contains(*inside, equation); });
        });
    if (begin == p.equations.end()) return {};
    std::vector<const Equation*> maker(p.types.size());
    for (const Equation& eqn : p.equations)
      for (Var v : eqn.outputs) maker[v] = &eqn;
    std::vector<std::size_t> input(p.types.size(), p.inputs.size());
    for (std::size_t i = 0; i < p.inputs.size(); ++i) input[p.inputs[i]] = i;
    std::vector<bool> seen(p.types.size());
    std::vector<Var> front = begin->inputs;
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < front.size(); ++at) {
      const Var v = front[at];
      if (seen[v]) continue;
      seen[v] = true;
      if (input[v] < p.inputs.size()) found.push_back(input[v]);
      if (maker[v]) front.insert(front.end(), maker[v]->inputs.begin(), maker[v]->inputs.end());
    }
    return found;
  }

  bool alike(std::size_t a, std::size_t b) const {
    return d_.whole->types[d_.whole->inputs[a]] == d_.whole->types[d_.whole->inputs[b]] &&
           d_.inputs[a] == d_.inputs[b];
  }
  void add_kind(std::size_t i) {
    constexpr std::size_t kMost = 6;
    if (kinds_.size() == kMost || d_.whole->types[d_.whole->inputs[i]].shape.empty()) return;
    const std::string pattern = pattern_of(q_.inputs[i]);
    for (const Kind& k : kinds_)
      if (std::find(k.inputs.begin(), k.inputs.end(), i) != k.inputs.end()) return;
    Kind k;
    std::set<std::string> rests;
    for (std::size_t j = 0; j < d_.inputs.size(); ++j)
      if (pattern_of(q_.inputs[j]) == pattern && alike(i, j)) {
        k.inputs.push_back(j);
        rests.insert(behind_root(q_.inputs[j]));
      }
    k.name = k.inputs.size() == 1 ? q_.inputs[i] : pattern;
    for (std::size_t j = 0; j < d_.outputs.size(); ++j)
      if (const std::string rest = behind_root(q_.outputs[j]);
          !rest.empty() && rests.count(rest) && d_.outputs[j] == d_.inputs[i] &&
          d_.whole->types[d_.whole->outputs[j]].shape == d_.whole->types[d_.whole->inputs[i]].shape)
        k.outputs.push_back(j);
    if (!k.outputs.empty()) k.name += " and the results of its path";
    kinds_.push_back(std::move(k));
  }
  void add_output(std::size_t j) {
    if (kinds_.empty()) kinds_.push_back({{}, {j}, q_.outputs[j]});
  }

  spmd::Placement now(const Kind& k) const {
    return k.inputs.empty() ? d_.outputs[k.outputs[0]] : d_.inputs[k.inputs[0]];
  }
  const Shape& shape(const Kind& k) const {
    const Program& p = *d_.whole;
    return p.types[k.inputs.empty() ? p.outputs[k.outputs[0]] : p.inputs[k.inputs[0]]].shape;
  }
  bool asked(const Kind& k) const {
    const auto& list = k.inputs.empty() ? q_.cutting->outputs : q_.cutting->inputs;
    const std::size_t i = k.inputs.empty() ? k.outputs[0] : k.inputs[0];
    return i < list.size() && list[i].has_value();
  }

  // The alternatives for a kind: unconstrained, with the collective's axes on other dimensions or
  // removed, and replicated.
  std::vector<Alternative> alternatives(const Kind& k, const PlannedCollective& worst) const {
    std::vector<Alternative> all;
    const spmd::Placement before = now(k);
    const auto add = [&](const spmd::Placement& p) {
      if (p == before || !d_.atoms.divides(shape(k), p)) return;
      for (const Alternative& a : all)
        if (a.placement == p) return;
      all.push_back({&k, p});
    };
    if (asked(k)) all.push_back({&k, std::nullopt});
    for (const std::string& axis : worst.axes) {
      const int number = d_.mesh->find(axis);
      if (number < 0) continue;
      for (spmd::Atom a : d_.atoms.atoms_of(number)) {
        spmd::Placement without = before;
        for (spmd::Atoms& dim : without.dims) {
          spmd::Atoms rest;
          for (spmd::Atom b : dim)
            if (b != a) rest.push_back(b);
          dim = rest;
        }
        for (std::size_t dim = 0; dim < without.dims.size(); ++dim) {
          spmd::Placement moved = without;
          moved.dims[dim].push_back(a);
          add(moved);
        }
        add(without);
      }
    }
    add(spmd::Placement::replicated(before.rank()));
    return all;
  }

  // The program without constraints on the changed values, whose shardings are in the request.
  ProgramPtr without_constraints(const Kind& k) const {
    auto p = std::make_shared<Program>(*d_.whole);
    std::set<Var> in, out;
    for (std::size_t i : k.inputs) in.insert(p->inputs[i]);
    for (std::size_t j : k.outputs) out.insert(p->outputs[j]);
    std::vector<Var> now(p->types.size());
    for (std::size_t v = 0; v < now.size(); ++v) now[v] = static_cast<Var>(v);
    std::vector<Equation> kept;
    for (Equation& eqn : p->equations) {
      for (Var& v : eqn.inputs) v = now[v];
      if (eqn.op->constrains && (in.count(eqn.inputs[0]) || out.count(eqn.outputs[0])))
        now[eqn.outputs[0]] = eqn.inputs[0];
      else
        kept.push_back(std::move(eqn));
    }
    p->equations = std::move(kept);
    for (Var& v : p->outputs) v = now[v];
    return p;
  }

  std::optional<std::string> tried(const Alternative& a, double& best) const {
    const Kind& k = *a.kind;
    spmd::ProgramShardings cutting = *q_.cutting;
    cutting.inputs.resize(std::max(cutting.inputs.size(), d_.inputs.size()));
    cutting.outputs.resize(std::max(cutting.outputs.size(), d_.outputs.size()));
    std::optional<spmd::RequestedSpec> wanted;
    if (a.placement) wanted = spmd::RequestedSpec{d_.atoms.spec(*a.placement)};
    for (std::size_t i : k.inputs) cutting.inputs[i] = wanted;
    for (std::size_t j : k.outputs) cutting.outputs[j] = wanted;
    const ProgramOnMesh other = program_on_mesh(without_constraints(k), &cutting, options_);
    const Work work = work_of(other, options_, false);
    const double seconds = work.compute_seconds + work.communication_seconds;
    if (seconds >= best) return std::nullopt;
    best = seconds;
    std::string text = a.placement ? "With " + d_.spec(*a.placement) + " for " + k.name
                                   : "With nothing asked of " + k.name;
    text += " (now " + d_.spec(now(k)) + ") a device receives " +
            bytes_text(static_cast<double>(work.moved)) + " instead of " +
            bytes_text(static_cast<double>(now_.moved)) + ", in a predicted " +
            seconds_text(seconds) + " instead of " +
            seconds_text(now_.compute_seconds + now_.communication_seconds);
    const std::int64_t held = bytes(other), holds = bytes(d_);
    if (held != holds)
      text += ", and holds arguments and results of " + bytes_text(static_cast<double>(held)) +
              " instead of " + bytes_text(static_cast<double>(holds));
    return text + ".";
  }
  static std::int64_t bytes(const ProgramOnMesh& d) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < d.inputs.size(); ++i)
      sum += d.part(d.whole->types[d.whole->inputs[i]], d.inputs[i]).bytes();
    for (std::size_t i = 0; i < d.outputs.size(); ++i)
      sum += d.part(d.whole->types[d.whole->outputs[i]], d.outputs[i]).bytes();
    return sum;
  }

  const Question& q_;
  const ProgramOnMesh& d_;
  const Work& now_;
  const PlanOptions& options_;
  std::deque<Kind> kinds_;
};

}  // namespace

std::string advice_for(const Question& question, const ProgramOnMesh& divided, const Work& work,
                       const std::vector<PlannedCollective>& collectives,
                       const PlanOptions& options) {
  if (!divided.made || collectives.empty() || options.alternatives <= 0) return "";
  const auto worst = std::max_element(collectives.begin(), collectives.end(),
                                      [](const PlannedCollective& a, const PlannedCollective& b) {
                                        return a.total_seconds() < b.total_seconds();
                                      });
  const auto value = std::max_element(
      worst->values.begin(), worst->values.end(),
      [](const PlannedValue& a, const PlannedValue& b) { return a.bytes < b.bytes; });
  const Equation* equation = nullptr;
  for (const spmd::CollectiveCause& c : divided.made->collectives)
    if (c.equation && c.equation->op->shown() == value->op && to_string(c.loc) == value->line &&
        to_string(c.whole) == value->type) {
      equation = c.equation;
      break;
    }
  AdviceSearch search(question, divided, work, options);
  return search.run(*worst, *value, equation);
}

}  // namespace tessera::inline v0::explain
