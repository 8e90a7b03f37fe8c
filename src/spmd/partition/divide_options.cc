#include "spmd/partition/divide_options.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

bool DivisionOptions::asks_for(const AtomMesh& mesh, const DivisionRule& rule,
                               const Division& division) const {
  for (std::size_t k = 0; k < rule.tensors.size(); ++k) {
    const DivisionRule::Tensor& t = rule.tensors[k];
    for (std::size_t d = 0; d < t.dims.size(); ++d) {
      if (t.dims[d].size() != 1 || rule.window_of(k, d) >= 0) continue;
      const std::uint16_t f = t.dims[d][0];
      const std::int64_t extent = t.type.shape[static_cast<int>(d)];
      if (extent % mesh.size(division[f]) != 0 &&
          std::find(uneven[f].begin(), uneven[f].end(), extent) == uneven[f].end())
        return false;
    }
  }
  return true;
}

DivisionOptions division_options(const PlacementTable& placements, const DivisionRule& rule,
                                 std::span<const OperandState> operands,
                                 std::span<const ResultState> results) {
  using Id = PlacementTable::Id;
  const AtomMesh& mesh = placements.mesh();
  DivisionOptions found;
  found.runs.resize(rule.factors.size());
  found.uneven.resize(rule.factors.size());
  std::vector<std::vector<double>> weight(static_cast<std::size_t>(mesh.count()));
  AtomSet stuck;
  auto look = [&](std::size_t tensor, Id id) {
    if (id == PlacementTable::none) return;
    const std::int64_t bytes = rule.tensors[tensor].type.bytes();
    AtomSet used;
    std::vector<Atoms> runs(rule.factors.size());
    for_each_cut(mesh, rule, tensor, placements[id], [&](std::size_t f, Atom a) {
      if (!rule.factors[f].divides) return;
      weight[a].resize(rule.factors.size(), -1);
      weight[a][f] = std::max(weight[a][f], 0.0) + static_cast<double>(bytes);
      // Partitioning a sorted dimension costs more communication than partitioning another.
      if (!rule.factors[f].orders) used.insert(a);
      runs[f].push_back(a);
    });
    stuck |= placements[id].cut() - used;
    const auto& dims = rule.tensors[tensor].dims;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (const std::int64_t extent = rule.tensors[tensor].type.shape[static_cast<int>(d)];
          dims[d].size() == 1 && extent % mesh.size(placements[id].dims[d]) != 0)
        found.uneven[dims[d][0]].push_back(extent);
    for (std::size_t f = 0; f < runs.size(); ++f)
      if (!runs[f].empty()) found.runs[f].push_back({bytes, runs[f]});
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    look(i, operands[i].wished);
    for (Id id : operands[i].copies) look(i, id);
  }
  for (std::size_t i = 0; i < results.size(); ++i) look(rule.operands + i, results[i].wanted);
  for (auto& runs : found.runs)
    std::stable_sort(runs.begin(), runs.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  bool folds = false;  // a dimension has several factors, whose minor ones cannot be cut alone
  for (const DivisionRule::Tensor& t : rule.tensors)
    for (const auto& dim : t.dims) folds = folds || dim.size() > 1;
  const auto is_offered = [](const std::vector<double>& w) {
    return std::any_of(w.begin(), w.end(), [](double x) { return x >= 0; });
  };
  for (std::size_t a = 0; a < weight.size(); ++a) {
    weight[a].resize(rule.factors.size(), -1);
    // Atoms that partition a value along a factor that cannot be cut, or not alone, may instead
    // partition factors for which cutting is free.
    if (stuck.contains(static_cast<Atom>(a)) || (folds && is_offered(weight[a])))
      for (std::size_t f = 0; f < rule.factors.size(); ++f)
        if (rule.factors[f].divides && rule.factors[f].batches)
          weight[a][f] = std::max(weight[a][f], 0.0);
    std::vector<int> o;
    for (std::size_t f = 0; f < rule.factors.size(); ++f)
      if (weight[a][f] >= 0) o.push_back(static_cast<int>(f));
    if (o.empty()) continue;
    std::stable_sort(o.begin(), o.end(), [&](int f, int g) {
      return weight[a][static_cast<std::size_t>(f)] > weight[a][static_cast<std::size_t>(g)];
    });
    o.push_back(-1);
    found.atoms.push_back(static_cast<Atom>(a));
    found.factors.push_back(std::move(o));
  }
  return found;
}

}  // namespace tessera::inline v0::spmd
