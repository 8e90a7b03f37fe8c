// The placements among which a plan is searched: which atoms and dimensions take part, and what
// moves between them cost.
//
// What is numbered here are units: atoms, or runs of atoms of one axis that both placements have
// together, which move together.
#pragma once

#include "spmd/reshard/search.h"
#include "spmd/reshard/state.h"

#include <compare>

namespace tessera::inline v0::spmd {

/// What sequences are compared by, first first. `effort`, the dimensions that moves touch, settles
/// what else would be the order of the search.
struct PlanCost {
  double time = 0;  // or bytes, as parts of the whole, where all links are alike
  int collectives = 0, effort = 0;
  friend auto operator<=>(const PlanCost& a, const PlanCost& b) = default;
  friend PlanCost operator+(const PlanCost& a, const PlanCost& b) {
    return {a.time + b.time, a.collectives + b.collectives, a.effort + b.effort};
  }
};

class SearchSpace {
 public:
  using Mask = std::uint32_t;  // of units
  /// With so many units all moves in all orders are tried.
  static constexpr int full_units = 4;

  SearchSpace(const SearchQuestion& question, bool runs);

  /// False where more units or dimensions are concerned than a state holds.
  bool fits() const { return fits_; }
  bool full() const { return count_ <= full_units; }
  int count() const { return count_; }
  int rank() const { return rank_; }
  std::uint64_t dims_of(std::uint32_t dims) const;  // as numbered in placements

  /// None where it takes a unit apart.
  std::optional<PackedState> closed(const Placement& p) const;
  OpenState opened(const PackedState& state) const;
  Placement placement(const PackedState& state) const;
  const PackedState& start() const { return start_; }
  const PackedState& goal() const { return goal_; }
  const OpenState& open_goal() const { return open_goal_; }
  /// No state on the way has a larger part.
  double most() const { return most_; }

  static Mask mask(const ShortList& dim);
  double size(int unit) const { return size_[static_cast<std::size_t>(unit)]; }
  double size_of(Mask units) const;
  double product(const ShortList& dim) const;
  /// Of an extent: whether a cut into `parts` is even.
  bool divides(int dim, double parts) const;
  double part_of(const OpenState& s) const;
  /// The units that a move between two states is along.
  Mask moved(MoveKind kind, const OpenState& before, const OpenState& after) const;
  int touched(const OpenState& before, const OpenState& after) const;

  PlanCost cost(MoveKind kind, Mask over, double before, double after, int effort) const;
  /// At least so much is still to come: what a device needs and does not hold, at the best
  /// bandwidth.
  PlanCost left(const OpenState& s) const;
  /// A guess at that, which may be too much: each unit that is out of its place is moved by itself.
  PlanCost guess(const OpenState& s) const;
  /// None where the steps do not keep within most().
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
  std::array<std::uint8_t, AtomSet::most> number_{};  // by atom its unit's
  std::array<double, ShortList::most> size_{};
  std::array<std::size_t, OpenState::most_dims> dim_{};
  std::array<double, OpenState::most_dims> extent_{};
  double whole_ = 1, scale_ = 1, best_bandwidth_ = 1;
  PackedState start_, goal_;
  OpenState open_goal_;
  double goal_part_ = 0, most_ = 0;
};

}  // namespace tessera::inline v0::spmd
