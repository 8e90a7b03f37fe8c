#include "autosharding/classes.h"

#include "spmd/propagate/value_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::inline v0::autosharding {

namespace {

class Sets {
 public:
  std::size_t find(std::size_t a) {
    while (parent_[a] != a) a = parent_[a] = parent_[parent_[a]];
    return a;
  }
  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  std::size_t add() {
    parent_.push_back(parent_.size());
    return parent_.size() - 1;
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

int DimClasses::dim(std::size_t variable, int number) const {
  const std::vector<int>& dims = of[variable];
  const auto it = std::find(dims.begin(), dims.end(), number);
  return it == dims.end() ? -1 : static_cast<int>(it - dims.begin());
}

DimClasses dim_classes(const Program& program, const Space& space) {
  using spmd::ValueGraph;
  spmd::DraftTable drafts;
  const ValueGraph graph = spmd::value_graph(program, space.atoms(), {}, drafts);
  Sets sets;
  std::map<std::pair<ValueGraph::Id, int>, std::size_t> numbers;
  std::vector<double> weight;
  const auto number = [&](ValueGraph::Id value, int dim) {
    const auto [it, fresh] = numbers.try_emplace({value, dim});
    if (fresh) {
      it->second = sets.add();
      weight.push_back(0);
    }
    return it->second;
  };
  for (const ValueGraph::Node& node : graph.nodes) {
    const spmd::CutRule& rule = graph.rules[node.rule];
    for (std::size_t t = 0; t < node.count; ++t)
      for (std::size_t d = 0; d < rule.tensors()[t].dims.size(); ++d)
        weight[number(graph.ends[node.first + t], static_cast<int>(d))] +=
            static_cast<double>(rule.tensors()[t].elements);
    for (std::size_t f = 0; f < rule.factors().size(); ++f) {
      if (rule.factors()[f].blocked || rule.factors()[f].size == 1) continue;
      std::optional<std::size_t> first;
      for (std::size_t t = 0; t < node.count; ++t) {
        // An axis partitions the major factor of a dimension first.
        const spmd::CutRule::Place& place = rule.place(t, f);
        if (!place || place.before != 1) continue;
        const std::size_t here = number(graph.ends[node.first + t], place.dim);
        if (first) sets.join(*first, here);
        first = here;
      }
    }
  }
  const ValueGraph::Scope& top = graph.scopes[0];
  const auto dims_of = [&](ValueGraph::Id value, int rank) {
    std::vector<std::size_t> all;
    for (int d = 0; d < rank; ++d) all.push_back(number(value, d));
    return all;
  };
  std::vector<std::vector<std::size_t>> of_variable;
  for (const Variable& v : space.variables()) {
    const int rank = v.type.shape.rank();
    of_variable.push_back(dims_of(top.of[program.inputs[v.inputs[0]]], rank));
    for (std::size_t i : v.inputs) {
      const std::vector<std::size_t> dims = dims_of(top.of[program.inputs[i]], rank);
      for (std::size_t d = 0; d < dims.size(); ++d) sets.join(dims[d], of_variable.back()[d]);
    }
  }
  std::vector<std::vector<std::size_t>> of_result;
  for (std::size_t o = 0; o < program.outputs.size(); ++o)
    of_result.push_back(dims_of(graph.outputs[o], program.types[program.outputs[o]].shape.rank()));

  std::map<std::size_t, double> total;
  for (std::size_t i = 0; i < weight.size(); ++i) total[sets.find(i)] += weight[i];
  std::vector<std::size_t> order;
  for (const auto& dims : of_variable)
    for (std::size_t d : dims) order.push_back(sets.find(d));
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return total[a] > total[b]; });
  const auto classes_of = [&](const std::vector<std::size_t>& dims) {
    std::vector<int> all;
    for (std::size_t d : dims) {
      const auto it = std::find(order.begin(), order.end(), sets.find(d));
      all.push_back(it == order.end() ? -1 : static_cast<int>(it - order.begin()));
    }
    return all;
  };
  DimClasses classes;
  classes.count = static_cast<int>(order.size());
  for (const auto& dims : of_variable) classes.of.push_back(classes_of(dims));
  for (const auto& dims : of_result) classes.of_results.push_back(classes_of(dims));
  return classes;
}

}  // namespace tessera::inline v0::autosharding
