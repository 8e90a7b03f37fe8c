#include "spmd/reshard/space.h"

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::spmd {

namespace {

template <class F>
void each_bit(std::uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<std::size_t>(std::countr_zero(mask)));
}

}  // namespace

SearchSpace::SearchSpace(const SearchQuestion& question, bool runs)
    : q_(question), mesh_(question.ground.mesh) {
  choose_units(runs);
  choose_dims();
  alike_ = q_.links.alike(mesh_);
  const double all = static_cast<double>(mesh_.mesh().size());
  whole_ = all * all;  // all parts, and what is sent of them, are integers of this unit
  scale_ = q_.bytes > 0 ? q_.bytes / whole_ : 1;
  best_bandwidth_ = q_.links.best_bandwidth(mesh_);
  most_ = std::max(part_of(q_.from), part_of(q_.to));
  if (!fits_) return;
  start_ = closed(q_.from).value();
  goal_ = closed(q_.to).value();
  open_goal_ = opened(goal_);
  goal_part_ = part_of(open_goal_);
}

// Whether two atoms are neighbours in the placement, or both unreduced, or both unused.
bool SearchSpace::belongs(const Placement& p, Atom a, Atom next) const {
  if (mesh_.axis_of(a) != mesh_.axis_of(next)) return false;
  if (p.unreduced.contains(a) || p.unreduced.contains(next))
    return p.unreduced.contains(a) && p.unreduced.contains(next);
  for (const Atoms& dim : p.dims) {
    const auto it = std::find(dim.begin(), dim.end(), a);
    const auto other = std::find(dim.begin(), dim.end(), next);
    if (it != dim.end()) return other != dim.end() && it + 1 == other;
    if (other != dim.end()) return false;
  }
  return true;
}

void SearchSpace::choose_units(bool runs) {
  kept_ = q_.from.unreduced & q_.to.unreduced;
  AtomSet concerned = (q_.from.used() | q_.to.used()) - kept_;
  AtomSet other = mesh_.all() - concerned - kept_ - q_.ground.barred;
  std::vector<Atoms> units, spare;
  for (AtomSet set : {concerned, other})
    for (Atom a : set.atoms()) {
      std::vector<Atoms>& list = set == other ? spare : units;
      if (runs && !list.empty() && list.back().back() + 1 == a &&
          belongs(q_.from, list.back().back(), a) && belongs(q_.to, list.back().back(), a))
        list.back().push_back(a);
      else
        list.push_back({a});
    }
  // Free atoms are included while that costs little: moving smaller parts may pay for a gather at
  // the end.
  const auto bandwidth = [&](const Atoms& unit) {
    return q_.links.of(mesh_.axis_of(unit[0])).bandwidth;
  };
  std::stable_sort(spare.begin(), spare.end(),
                   [&](const Atoms& a, const Atoms& b) { return bandwidth(a) > bandwidth(b); });
  for (const Atoms& unit : spare)
    if (units.size() < full_units) units.push_back(unit);
  fits_ = units.size() <= ShortList::most;
  if (!fits_) return;
  std::sort(units.begin(), units.end(), [](const Atoms& a, const Atoms& b) { return a[0] < b[0]; });
  for (const Atoms& unit : units) {
    for (Atom a : unit) number_[a] = static_cast<std::uint8_t>(count_);
    atoms_[static_cast<std::size_t>(count_)] = unit;
    size_[static_cast<std::size_t>(count_++)] = static_cast<double>(mesh_.size(unit));
  }
}

// Chooses the dimensions that either end partitions, and as many others as fit: these may hold
// atoms temporarily.
void SearchSpace::choose_dims() {
  for (bool cut : {true, false})
    for (std::size_t d = 0; d < q_.from.dims.size(); ++d) {
      const bool is_cut = !q_.from.dims[d].empty() || !q_.to.dims[d].empty();
      if (is_cut != cut) continue;
      if (rank_ == OpenState::most_dims) {
        fits_ = fits_ && !cut;
        continue;
      }
      dim_[static_cast<std::size_t>(rank_++)] = d;
    }
  std::sort(dim_.begin(), dim_.begin() + rank_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i)
    extent_[i] = static_cast<double>(q_.ground.extents[dim_[i]]);
}

std::uint64_t SearchSpace::dims_of(std::uint32_t dims) const {
  std::uint64_t in = 0;
  each_bit(dims, [&](std::size_t d) { in |= std::uint64_t{1} << dim_[d]; });
  return in;
}

std::optional<PackedState> SearchSpace::closed(const Placement& p) const {
  OpenState s;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i) {
    const Atoms& dim = p.dims[dim_[i]];
    for (auto at = dim.begin(); at != dim.end();) {
      const Atoms& unit = atoms_[number_[*at]];
      if (dim.end() - at < std::ssize(unit) || !std::equal(unit.begin(), unit.end(), at))
        return std::nullopt;
      s.dims[i].push(number_[*at]);
      at += unit.size();
    }
  }
  const AtomSet partial = p.unreduced - kept_;
  for (Atom a : partial.atoms()) {
    if (!partial.includes(AtomSet(atoms_[number_[a]]))) return std::nullopt;
    s.unreduced |= Mask{1} << number_[a];
  }
  return PackedState(s, rank_);
}

OpenState SearchSpace::opened(const PackedState& state) const {
  OpenState s;
  state.open(s, rank_);
  return s;
}

Placement SearchSpace::placement(const PackedState& state) const {
  const OpenState s = opened(state);
  Placement p = q_.from;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i) {
    p.dims[dim_[i]].clear();
    for (std::uint8_t unit : s.dims[i])
      for (Atom a : atoms_[unit]) p.dims[dim_[i]].push_back(a);
  }
  AtomSet partial = kept_;
  each_bit(s.unreduced, [&](std::size_t a) { partial |= AtomSet(atoms_[a]); });
  reduce(p, p.unreduced - partial);
  return p;
}

SearchSpace::Mask SearchSpace::mask(const ShortList& dim) {
  Mask m = 0;
  for (std::uint8_t a : dim) m |= Mask{1} << a;
  return m;
}

double SearchSpace::size_of(Mask units) const {
  double n = 1;
  each_bit(units, [&](std::size_t a) { n *= size_[a]; });
  return n;
}

double SearchSpace::product(const ShortList& dim) const {
  double n = 1;
  for (std::uint8_t a : dim) n *= size_[a];
  return n;
}

bool SearchSpace::divides(int dim, double parts) const {
  const double extent = extent_[static_cast<std::size_t>(dim)];
  return std::floor(extent / parts) * parts == extent;
}

double SearchSpace::part_of(const OpenState& s) const {
  double n = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i) n *= product(s.dims[i]);
  return whole_ / n;
}

SearchSpace::Mask SearchSpace::moved(MoveKind kind, const OpenState& before,
                                     const OpenState& after) const {
  Mask over = before.unreduced & ~after.unreduced;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i) {
    const ShortList &a = before.dims[i], &b = after.dims[i];
    const Mask both = mask(a) | mask(b);
    if (kind != MoveKind::permute)
      over |= mask(a) ^ mask(b);
    else
      over |= both & ~at_rest<Mask>(a, b, [&](std::uint8_t n) { return size_[n]; });
  }
  return over;
}

int SearchSpace::touched(const OpenState& before, const OpenState& after) const {
  int n = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i)
    n += !std::equal(before.dims[i].begin(), before.dims[i].end(), after.dims[i].begin(),
                     after.dims[i].end());
  return n;
}

PlanCost SearchSpace::cost(MoveKind kind, Mask over, double before, double after,
                           int effort) const {
  if (kind == MoveKind::slice) return {0, 0, effort};
  if (alike_) return {received_bytes(kind, size_of(over), before, after), 1, effort};
  AtomSet atoms;
  each_bit(over, [&](std::size_t a) { atoms |= AtomSet(atoms_[a]); });
  return {q_.links.seconds(mesh_, kind, atoms, before * scale_, after * scale_), 1, effort};
}

// See missing_of_even in spmd/place/boxes.cc.
PlanCost SearchSpace::left(const OpenState& s) const {
  double missing = goal_part_;
  if (s.unreduced == open_goal_.unreduced) {
    double n = 1;
    bool apart = false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank_) && !apart; ++i) {
      const ShortList &a = s.dims[i], &b = open_goal_.dims[i];
      const auto [p, q] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
      apart = p != a.end() && q != b.end();
      n *= product(a.count > b.count ? a : b);
    }
    if (!apart) missing -= whole_ / n;
  }
  if (missing == 0) return {};
  return {alike_ ? missing : missing * scale_ / best_bandwidth_, 1, 0};
}

PlanCost SearchSpace::guess(const OpenState& s) const {
  std::ptrdiff_t wrong = std::popcount(s.unreduced & ~open_goal_.unreduced);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i) {
    const ShortList &a = s.dims[i], &b = open_goal_.dims[i];
    const auto [p, q] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    wrong += (a.end() - p) + (b.end() - q);
  }
  PlanCost cost = left(s);
  const double each = goal_part_ / 4;
  cost.time += static_cast<double>(wrong) * (alike_ ? each : each * scale_ / best_bandwidth_);
  return cost;
}

double SearchSpace::part_of(const Placement& p) const {
  double n = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i)
    n *= static_cast<double>(mesh_.size(p.dims[dim_[i]]));
  return whole_ / n;
}

std::optional<PlanCost> SearchSpace::cost_of(const std::vector<Step>& steps) const {
  PlanCost sum;
  const Placement* before = &q_.from;
  for (const Step& step : steps) {
    const double part = part_of(step.after);
    if (part > most_) return std::nullopt;
    if (step.kind != MoveKind::slice) {
      const AtomSet over = moved_atoms(mesh_, step.kind, *before, step.after);
      const double was = part_of(*before);
      sum = sum +
            PlanCost{
                alike_ ? received_bytes(step.kind, static_cast<double>(mesh_.size(over)), was, part)
                       : q_.links.seconds(mesh_, step.kind, over, was * scale_, part * scale_),
                1, 0};
    }
    for (std::size_t d = 0; d < before->dims.size(); ++d)
      sum.effort += !(before->dims[d] == step.after.dims[d]);
    before = &step.after;
  }
  return sum;
}

}  // namespace tessera::inline v0::spmd
