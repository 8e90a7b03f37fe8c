#include "spmd/reshard_space.h"

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::spmd {

namespace {

template <class F>
void each_bit(std::uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<std::size_t>(std::countr_zero(mask)));
}

}  // namespace

SearchSpace::SearchSpace(const SearchQuestion& question)
    : q_(question), mesh_(question.ground.mesh) {
  choose_atoms();
  choose_dims();
  if (!fits_) return;
  alike_ = q_.links.alike(mesh_);
  double all = 1;
  for (int a = 0; a < count_; ++a) all *= size(a);
  whole_ = all * all;  // of which all parts, and what of them is sent, are whole numbers
  scale_ = q_.bytes > 0 ? q_.bytes / whole_ : 1;
  best_bandwidth_ = q_.links.best_bandwidth(mesh_);
  goal_ = closed(q_.to);
  open_goal_ = opened(goal_);
  goal_part_ = part_of(open_goal_);
  most_ = std::max(goal_part_, part_of(opened(closed(q_.from))));
}

void SearchSpace::choose_atoms() {
  kept_ = q_.from.unreduced & q_.to.unreduced;
  AtomSet atoms = (q_.from.used() | q_.to.used()) - kept_;
  AtomSet other = mesh_.all() - atoms - kept_;
  for (std::size_t d = 0; d < q_.from.dims.size(); ++d)
    if (q_.ground.is_frozen(d)) {
      atoms -= AtomSet(q_.from.dims[d]);
      other -= AtomSet(q_.from.dims[d]);
    }
  // Free ones too while it costs little: moves of smaller parts may pay for a gather at the end.
  const auto bandwidth = [&](Atom a) { return q_.links.of(mesh_.axis_of(a)).bandwidth; };
  Atoms spare = other.atoms();
  std::stable_sort(spare.begin(), spare.end(),
                   [&](Atom a, Atom b) { return bandwidth(a) > bandwidth(b); });
  for (Atom a : spare)
    if (atoms.size() < full_atoms) atoms.insert(a);
  fits_ = atoms.size() <= ShortList::most;
  if (!fits_) return;
  for (Atom a : atoms.atoms()) {
    number_[a] = static_cast<std::uint8_t>(count_);
    atom_[static_cast<std::size_t>(count_)] = a;
    size_[static_cast<std::size_t>(count_++)] = static_cast<double>(mesh_.size(a));
  }
}

// Those that something cuts, and as many of the others as there is room for: they may hold atoms
// for a while.
void SearchSpace::choose_dims() {
  for (bool cut : {true, false})
    for (std::size_t d = 0; d < q_.from.dims.size(); ++d) {
      const bool is_cut = !q_.from.dims[d].empty() || !q_.to.dims[d].empty();
      if (is_cut != cut || q_.ground.is_frozen(d)) continue;
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

PackedState SearchSpace::closed(const Placement& p) const {
  OpenState s;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i)
    for (Atom a : p.dims[dim_[i]]) s.dims[i].push(number_[a]);
  for (Atom a : (p.unreduced - kept_).atoms()) s.unreduced |= Mask{1} << number_[a];
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
    for (std::uint8_t a : s.dims[i]) p.dims[dim_[i]].push_back(atom_[a]);
  }
  AtomSet partial = kept_;
  each_bit(s.unreduced, [&](std::size_t a) { partial.insert(atom_[a]); });
  reduce(p, p.unreduced - partial);
  return p;
}

SearchSpace::Mask SearchSpace::mask(const ShortList& dim) {
  Mask m = 0;
  for (std::uint8_t a : dim) m |= Mask{1} << a;
  return m;
}

double SearchSpace::size_of(Mask atoms) const {
  double n = 1;
  each_bit(atoms, [&](std::size_t a) { n *= size_[a]; });
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
  each_bit(over, [&](std::size_t a) { atoms.insert(atom_[a]); });
  return {q_.links.seconds(mesh_, kind, atoms, before * scale_, after * scale_), 1, effort};
}

// spmd/boxes.cc has the reasons.
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

std::optional<PlanCost> SearchSpace::cost_of(const std::vector<Step>& steps) const {
  PlanCost sum;
  OpenState before = opened(closed(q_.from));
  for (const Step& step : steps) {
    const OpenState after = opened(closed(step.after));
    const double part = part_of(after);
    if (part > most_) return std::nullopt;
    sum = sum + cost(step.kind, moved(step.kind, before, after), part_of(before), part,
                     touched(before, after));
    before = after;
  }
  return sum;
}

}  // namespace tessera::inline v0::spmd
