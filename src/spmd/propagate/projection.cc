#include "spmd/propagate/projection.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

void Projection::read(const CutRule& rule, std::span<const Draft* const> drafts) {
  rule_ = &rule;
  factors_ = rule.factors().size();
  const std::size_t tensors = rule.tensors().size();
  if (drafts.size() != tensors)
    throw InternalError("a rule of " + std::to_string(tensors) + " values is given " +
                        std::to_string(drafts.size()));
  if (axes_.size() < tensors * factors_) axes_.resize(tensors * factors_);
  for (std::size_t i = 0; i < tensors * factors_; ++i) axes_[i].clear();
  cut_.assign(tensors, {});
  overflow_.assign(tensors, 0);
  grown_.assign(tensors, 0);
  drafts_.assign(drafts.begin(), drafts.end());
  for (std::size_t t = 0; t < tensors; ++t) {
    const std::vector<CutRule::Dim>& dims = rule.tensors()[t].dims;
    const Placement& p = drafts[t]->placement;
    if (p.dims.size() != dims.size())
      throw InternalError("a placement of " + std::to_string(p.dims.size()) +
                          " dimensions for a value of " + std::to_string(dims.size()));
    cut_[t] = p.cut();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::vector<std::uint16_t>& factors = dims[d].factors;
      std::size_t k = 0;
      std::int64_t left = factors.empty() ? 1 : rule.factors()[factors[0]].size;
      for (Atom a : p.dims[d]) {
        while (left == 1 && k + 1 < factors.size()) left = rule.factors()[factors[++k]].size;
        const bool minor = k + 1 == factors.size();
        if (factors.empty() || (!minor && left % mesh_.size(a) != 0)) {
          overflow_[t] |= std::uint64_t{1} << d;
          break;
        }
        axes_[t * factors_ + factors[k]].push_back(a);
        if (!minor) left /= mesh_.size(a);
      }
    }
  }
}

bool is_wasteful(std::int64_t extent, std::int64_t parts) {
  const std::int64_t part = (extent + parts - 1) / parts;
  return 8 * (part * parts - extent) > extent || part * (parts - 1) >= extent;
}

// Whether another value of the same extent is already partitioned by the first `count` axes of
// `wanted` along the factor.
bool Projection::is_cut_elsewhere(std::size_t tensor, std::size_t factor, const Atoms& wanted,
                                  std::size_t count) const {
  const auto extent = [&](std::size_t t) {
    const CutRule::Place& p = rule_->place(t, factor);
    return p ? rule_->tensors()[t].dims[static_cast<std::size_t>(p.dim)].extent : -1;
  };
  for (std::size_t t = 0; t < rule_->tensors().size(); ++t) {
    const Atoms& has = axes(t, factor);
    if (t != tensor && has.size() >= count && extent(t) == extent(tensor) &&
        std::equal(wanted.begin(), wanted.begin() + count, has.begin()))
      return true;
  }
  return false;
}

std::size_t Projection::room(std::size_t tensor, std::size_t factor, const Atoms& wanted) const {
  const CutRule::Place& place = rule_->place(tensor, factor);
  const Draft& draft = *drafts_[tensor];
  const Atoms& now = axes(tensor, factor);
  std::size_t n = now.size();
  if ((draft.closed >> place.dim & 1) != 0 || overflows(tensor, place.dim)) return n;
  const AtomSet barred = draft.barred | draft.placement.unreduced;
  const std::int64_t whole = rule_->factors()[factor].size;
  const std::int64_t extent =
      rule_->tensors()[tensor].dims[static_cast<std::size_t>(place.dim)].extent;
  for (std::int64_t parts = size(now); n < wanted.size() && !barred.contains(wanted[n]); ++n) {
    parts *= mesh_.size(wanted[n]);
    if (place.before * parts > extent || (!place.minor && whole % parts != 0)) break;
    if (place.before == 1 && extent % parts != 0 && is_wasteful(extent, parts) &&
        !is_cut_elsewhere(tensor, factor, wanted, n + 1))
      break;
  }
  return n;
}

bool Projection::begins(std::size_t tensor, std::size_t factor) const {
  const auto dim = static_cast<std::size_t>(rule_->place(tensor, factor).dim);
  for (std::uint16_t f : rule_->tensors()[tensor].dims[dim].factors) {
    if (f == factor) return true;
    if (size(axes(tensor, f)) != rule_->factors()[f].size) return false;
  }
  throw InternalError("factor " + std::to_string(factor) + " is not in its dimension");
}

void Projection::grow(std::size_t tensor, std::size_t factor, const Atoms& axes, bool taken) {
  axes_[tensor * factors_ + factor] = axes;
  grown_[tensor] |= std::uint64_t{1} << rule_->place(tensor, factor).dim;
  if (taken) cut_[tensor] |= AtomSet(axes);
}

Atoms Projection::back(std::size_t tensor, int dim) const {
  Atoms all;
  for (std::uint16_t f : rule_->tensors()[tensor].dims[static_cast<std::size_t>(dim)].factors) {
    for (Atom a : axes(tensor, f)) all.push_back(a);
    if (size(axes(tensor, f)) != rule_->factors()[f].size) break;
  }
  return all;
}

bool Projection::write(std::size_t tensor, Draft& draft) const {
  bool longer = false;
  for (std::uint64_t left = grown_[tensor]; left != 0; left &= left - 1) {
    const int dim = std::countr_zero(left);
    if (overflows(tensor, dim)) continue;
    Atoms& now = draft.placement.dims[static_cast<std::size_t>(dim)];
    Atoms then = back(tensor, dim);
    if (then.size() <= now.size()) continue;
    longer = true;
    now = std::move(then);
  }
  return longer;
}

}  // namespace tessera::inline v0::spmd
