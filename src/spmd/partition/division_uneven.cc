// Decides where the work of an equation can be cut into uneven parts.
#include "ops/padding.h"
#include "spmd/partition/division.h"

namespace tessera::inline v0::spmd {

// Finds the regroupings of a view, whose elements keep their order.
void DivisionRule::find_regroupings() {
  if (op->lowering != Lowering::view || !op->local || tensors.size() != 2) return;
  for (std::size_t d = 0; d < tensors[0].dims.size(); ++d)
    for (std::size_t e = 0; e < tensors[1].dims.size(); ++e) {
      const auto &in = tensors[0].dims[d], &out = tensors[1].dims[e];
      if (in.empty() || out.empty() || in[0] != out[0] || factors[in[0]].size < 2) continue;
      const Shape &x = tensors[0].type.shape, &y = tensors[1].type.shape;
      Regrouping r{in[0], d, x[static_cast<int>(d)], 1, y[static_cast<int>(e)], 1};
      // Extends both to the point where they cover the same elements.
      for (std::size_t i = d + 1, j = e + 1; r.in * r.in_row != r.out * r.out_row;)
        if (r.in * r.in_row < r.out * r.out_row)
          r.in_row *= x[static_cast<int>(i++)];
        else
          r.out_row *= y[static_cast<int>(j++)];
      regroupings.push_back(r);
    }
}

const DivisionRule::Fetching& DivisionRule::regrouped(std::size_t regrouping,
                                                      std::int64_t parts) const {
  const auto [it, is_new] = regrouped_.try_emplace({regrouping, parts});
  if (is_new) {
    const Regrouping& r = regroupings[regrouping];
    const std::int64_t count = ops::part_extent(r.out, parts) * r.out_row;
    it->second = ops::plan_fetch({.extent = r.in * r.in_row,
                                  .part = ops::part_extent(r.in, parts) * r.in_row,
                                  .step = count,
                                  .count = count},
                                 parts);
  }
  return it->second;
}

int DivisionRule::regrouping_of(std::size_t tensor, std::size_t dim, std::int64_t parts) const {
  for (std::size_t i = 0; tensor == 0 && i < regroupings.size(); ++i) {
    const Regrouping& r = regroupings[i];
    if (r.dim == dim && parts > 1 && factors[r.factor].size % parts != 0)
      return ops::part_extent(r.in, parts) * r.in_row == ops::part_extent(r.out, parts) * r.out_row
                 ? -1
                 : static_cast<int>(i);
  }
  return -1;
}

bool may_be_uneven(const DivisionRule& rule, const std::vector<std::uint16_t>& dim, std::size_t k,
                   std::int64_t parts) {
  std::int64_t before = 1, behind = 1;
  for (std::size_t i = 0; i < dim.size(); ++i)
    if (i != k) (i < k ? before : behind) *= rule.factors[dim[i]].size;
  const std::int64_t size = rule.factors[dim[k]].size;
  const bool blocks =
      ops::part_extent(size * behind, parts) == ops::part_extent(size, parts) * behind;
  return before == 1 && (blocks || !rule.regroupings.empty());
}

double padding_of(const AtomMesh& mesh, const DivisionRule& rule, const Division& division) {
  double padding = 1;
  for (std::size_t f = 0; f < division.size(); ++f) {
    const std::int64_t parts = mesh.size(division[f]), size = rule.factors[f].size;
    if (size % parts != 0)
      padding *=
          static_cast<double>(ops::part_extent(size, parts) * parts) / static_cast<double>(size);
    if (parts > 1 && rule.factors[f].orders) padding *= 4;  // each part is sorted four times
  }
  return padding;
}

}  // namespace tessera::inline v0::spmd
