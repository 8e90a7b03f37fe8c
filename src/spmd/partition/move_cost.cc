#include "spmd/partition/move_cost.h"

namespace tessera::inline v0::spmd {

namespace {
// Bytes of a device's part if `factor` itself is not cut.
double bytes_of(const AtomMesh& mesh, const DivisionRule::Tensor& t, const Division& division,
                std::size_t factor) {
  AtomSet others;
  for (const auto& dim : t.dims)
    for (std::uint16_t f : dim)
      if (f != factor) others |= AtomSet(division[f]);
  return static_cast<double>(t.type.bytes()) / static_cast<double>(mesh.size(others));
}

// Elements, together with their positions, are distributed over all devices and returned (two
// all_to_alls), and half of each part goes to a neighbour and back (two permutes).
MoveCost ordering_cost(const AtomMesh& mesh, const DivisionRule& rule, const Division& division,
                       std::size_t factor, const Routes& routes) {
  constexpr double kPlace = 4;
  double bytes = 0;
  for (std::size_t t = rule.operands; t < rule.tensors.size(); ++t) {
    const double whole = bytes_of(mesh, rule.tensors[t], division, factor);
    if (t == rule.operands)
      bytes += whole / static_cast<double>(size_of(rule.tensors[t].type.dtype)) * kPlace;
    bytes += whole;
  }
  const AtomSet over(division[factor]);
  bytes /= static_cast<double>(mesh.size(over));
  return {2 * routes.seconds(MoveKind::all_to_all, over, bytes, bytes) +
              2 * routes.seconds(MoveKind::permute, over, bytes / 2, bytes / 2),
          4};
}

}  // namespace

MoveCost fetching_cost(const AtomMesh& mesh, const DivisionRule& rule, std::size_t operand,
                       const Division& division, const Routes& routes) {
  MoveCost cost;
  const auto add = [&](const DivisionRule::Fetching& plan, std::size_t f, std::int64_t extent) {
    if (!plan) return;
    const double element =
        bytes_of(mesh, rule.tensors[operand], division, f) / static_cast<double>(extent);
    for (const ops::FetchPlan::Round& round : plan->rounds) {
      if (!round.sent) continue;
      const double bytes = element * static_cast<double>(round.limit - round.start);
      cost.seconds += routes.seconds(MoveKind::permute, AtomSet(division[f]), bytes, bytes);
    }
    cost.collectives += plan->collectives;
  };
  for (std::size_t w = 0; w < rule.windows.size(); ++w) {
    const auto f = static_cast<std::size_t>(rule.windows[w].reads.factor);
    if (rule.windows[w].tensor != operand || division[f].empty()) continue;
    add(rule.fetching(w, mesh.size(division[f])), f, rule.windows[w].reads.extent);
  }
  for (std::size_t d = 0; d < rule.tensors[operand].dims.size(); ++d) {
    const std::vector<std::uint16_t>& dim = rule.tensors[operand].dims[d];
    const std::int64_t parts = dim.empty() ? 1 : mesh.size(division[dim[0]]);
    if (const int g = rule.regrouping_of(operand, d, parts); g >= 0) {
      const auto k = static_cast<std::size_t>(g);
      add(rule.regrouped(k, parts), dim[0], rule.regroupings[k].in * rule.regroupings[k].in_row);
    }
  }
  return cost;
}

MoveCost settling_cost(const AtomMesh& mesh, const DivisionRule& rule, const Division& division,
                       const Routes& routes) {
  MoveCost cost;
  for (std::size_t f = 0; f < division.size(); ++f) {
    const DivisionRule::Factor& factor = rule.factors[f];
    if (factor.orders && !division[f].empty())
      cost.add(ordering_cost(mesh, rule, division, f, routes));
    if (division[f].empty() || !(factor.runs || factor.settles)) continue;
    double bytes = 0;
    for (std::size_t t = rule.operands; t < rule.tensors.size(); ++t)
      bytes += bytes_of(mesh, rule.tensors[t], division, f);
    if (factor.runs) bytes /= static_cast<double>(factor.size);
    // Positions are exchanged along with the values.
    if (factor.settles && rule.tensors.size() == rule.operands + 1) bytes *= 2;
    cost.seconds += routes.seconds(MoveKind::all_gather, AtomSet(division[f]), bytes,
                                   bytes * static_cast<double>(mesh.size(division[f])));
    ++cost.collectives;
  }
  return cost;
}

}  // namespace tessera::inline v0::spmd
