// Ways of values from one placement to another that collectives of a per-device program can go,
// each planned once.
#pragma once

#include "spmd/place/placement_table.h"
#include "spmd/reshard/reshard.h"

#include <deque>
#include <unordered_map>

namespace tessera::inline v0::spmd {

class Routes {
 public:
  using Id = PlacementTable::Id;

  /// Along `barred` the devices hold values of their own.
  Routes(const Links& links, PlacementTable& placements, AtomSet barred)
      : links_(links), placements_(placements), barred_(barred) {}

  /// The cheapest plan (spmd/reshard/reshard.h). Where that is an exchange of boxes, whose parts have no
  /// common shape: what both placements have in common is kept, the rest gathered and cut again.
  const Reshard& route(const Type& whole, Id from, Id to);
  /// Of a collective along the atoms, from a device's bytes before and after it.
  double seconds(MoveKind kind, AtomSet over, double before, double after) const {
    return links_.seconds(placements_.mesh(), kind, over, before, after);
  }
  /// Partial results become whole, never the other way round.
  bool leads(Id from, Id to) const {
    const Placement &p = placements_[from], &q = placements_[to];
    return p.unreduced.includes(q.unreduced) && (q.unreduced.empty() || p.combiner == q.combiner);
  }

 private:
  struct Known {
    DType dtype;
    Shape shape;
    Id from, to;
    const Reshard* plan;
  };
  Reshard planned(const Type& whole, const Placement& from, const Placement& to) const;

  const Links& links_;
  PlacementTable& placements_;
  AtomSet barred_;
  std::deque<Reshard> plans_;
  std::unordered_multimap<std::size_t, Known> known_;
};

}  // namespace tessera::inline v0::spmd
