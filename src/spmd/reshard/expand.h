// Enumerates the moves from a placement during the search for a resharding plan.
#pragma once

#include "spmd/reshard/space.h"

namespace tessera::inline v0::spmd {

class Expander {
 public:
  Expander(const SearchQuestion& question, const SearchSpace& space)
      : q_(question), space_(space), rank_(space.rank()), full_(space.full()) {}
  virtual ~Expander() = default;

  /// Calls arrive() for every move if few units take part; otherwise for the likely ones, in the
  /// order slices, permutation, all_to_alls, reduction, gather. No move leads to parts larger than
  /// space.most().
  void expand(const PackedState& state);

 protected:
  /// `cost` is the cost of this move alone.
  virtual void arrive(MoveKind kind, const PackedState& state, const PlanCost& cost) = 0;

 private:
  using Mask = SearchSpace::Mask;
  // With many units, a move may only be followed by moves of the same or a later phase; there is at
  // most one permutation and one gather.
  enum Phase : std::uint32_t { slicing, permuted, exchanging, reduced, gathered };
  std::uint32_t phase_after(MoveKind kind) const;
  bool may(MoveKind kind) const;

  ShortList& dim(int d) { return s_.dims[static_cast<std::size_t>(d)]; }
  bool can_cut(int d, double parts) { return space_.divides(d, space_.product(dim(d)) * parts); }
  // Reports a move along `over` that leads to the state in `s_`.
  void reach(MoveKind kind, Mask over, int effort);

  void slices();
  void reductions();
  void permutes();
  void fill(const OpenState& was, Mask pool, int d);
  void all_to_alls();
  void take(int d, Mask sources, Mask moved);
  void deal(Mask some, Mask rest, int d, Mask where, MoveKind kind, int effort);
  void give_more(Mask some, Mask rest, int d, Mask where, MoveKind kind, int effort);
  void gathers();
  void drop(int d, Mask gone, int effort);
  void likely_moves(const PackedState& state);

  const SearchQuestion& q_;
  const SearchSpace& space_;
  const int rank_;
  const bool full_;

  // The state being expanded. Moves modify it in place and restore it.
  OpenState s_;
  double part_ = 0;
  std::uint32_t phase_ = 0;
};

}  // namespace tessera::inline v0::spmd
