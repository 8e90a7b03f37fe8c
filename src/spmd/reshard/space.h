// The search space of a resharding plan: which atoms and dimensions take part, and what moves cost.
//
// The search numbers units. A unit is an atom, or a run of atoms of one axis that both placements
// contain as a whole and that therefore move together.
#pragma once

#include "spmd/reshard/search.h"
#include "spmd/reshard/state.h"

#include <compare>

namespace tessera::inline v0::spmd {

/// The criteria by which sequences are compared, most important first. `effort`, the number of
/// dimensions that the moves touch, breaks ties that the order of the search would otherwise
/// decide.
struct PlanCost {
  double time = 0;  // bytes as a fraction of the whole if all links are alike
  int collectives = 0, effort = 0;
  friend auto operator<=>(const PlanCost& a, const PlanCost& b) = default;
  friend PlanCost operator+(const PlanCost& a, const PlanCost& b) {
    return {a.time + b.time, a.collectives + b.collectives, a.effort + b.effort};
  }
};

class SearchSpace {
 public:
  using Mask = std::uint32_t;  // bit per unit
  /// Up to this many units, all moves in all orders are tried.
  static constexpr int full_units = 4;

  SearchSpace(const SearchQuestion& question, bool runs);

  /// False if more units or dimensions take part than a state can hold.
  bool fits() const { return fits_; }
  bool full() const { return count_ <= full_units; }
  int count() const { return count_; }
  int rank() const { return rank_; }
  std::uint64_t dims_of(std::uint32_t dims) const;  // in the placements' numbering

  /// Absent if the placement splits a unit.
  std::optional<PackedState> closed(const Placement& p) const;
  OpenState opened(const PackedState& state) const;
  Placement placement(const PackedState& state) const;
  const PackedState& start() const { return start_; }
  const PackedState& goal() const { return goal_; }
  const OpenState& open_goal() const { return open_goal_; }
  /// The size limit: no intermediate state may have a larger part.
  double most() const { return most_; }

  static Mask mask(const ShortList& dim);
  double size(int unit) const { return size_[static_cast<std::size_t>(unit)]; }
  double size_of(Mask units) const;
  double product(const ShortList& dim) const;
  /// Whether partitioning the dimension's extent into `parts` is even.
  bool divides(int dim, double parts) const;
  double part_of(const OpenState& s) const;
  /// The units along which a move between two states communicates.
  Mask moved(MoveKind kind, const OpenState& before, const OpenState& after) const;
  int touched(const OpenState& before, const OpenState& after) const;

  PlanCost cost(MoveKind kind, Mask over, double before, double after, int effort) const;
  /// A lower bound on the remaining cost: what a device needs and does not hold, at the best
  /// bandwidth.
  PlanCost left(const OpenState& s) const;
  /// An estimate of the remaining cost, which may be too high: it assumes that each misplaced unit
  /// is moved separately.
  PlanCost guess(const OpenState& s) const;
  /// Absent if the steps exceed most().
  std::optional<PlanCost> cost_of(const std::vector<Step>& steps) const;

 private:
  void choose_units(bool runs);
  void choose_dims();
  double part_of(const Placement& p) const;
  bool belongs(const Placement& p, Atom a, Atom next) const;

  const SearchQuestion& q_;
  const AtomMesh& mesh_;
  bool fits_ = true, alike_ = true;
  int count_ = 0, rank_ = 0;
  AtomSet kept_;                                      // unreduced on both sides
  std::array<Atoms, ShortList::most> atoms_;          // by unit
  std::array<std::uint8_t, AtomSet::most> number_{};  // by atom: its unit
  std::array<double, ShortList::most> size_{};
  std::array<std::size_t, OpenState::most_dims> dim_{};
  std::array<double, OpenState::most_dims> extent_{};
  double whole_ = 1, scale_ = 1, best_bandwidth_ = 1;
  PackedState start_, goal_;
  OpenState open_goal_;
  double goal_part_ = 0, most_ = 0;
};

}  // namespace tessera::inline v0::spmd
