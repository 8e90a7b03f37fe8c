// Resharding routes that consist only of collectives available in a per-device program, each
// planned once.
#pragma once

#include "base/numbered.h"
#include "spmd/place/placement_table.h"
#include "spmd/reshard/reshard.h"

namespace tessera::inline v0::spmd {

class Routes {
 public:
  using Id = PlacementTable::Id;

  /// `barred` are the atoms along which the devices hold different values.
  Routes(const Links& links, PlacementTable& placements, AtomSet barred)
      : links_(links), placements_(placements), barred_(barred) {}

  /// The cheapest plan (spmd/reshard/reshard.h). If that is an exchange of boxes, whose parts have
  /// no common shape, the fallback keeps what both placements have in common, gathers the rest and
  /// slices it again.
  const Reshard& route(const Type& whole, Id from, Id to);
  /// Seconds for a collective along the atoms, given the bytes of a device's block before and
  /// after.
  double seconds(MoveKind kind, AtomSet over, double before, double after) const {
    return links_.seconds(placements_.mesh(), kind, over, before, after);
  }
  /// Whether `from` can be resharded to `to`. Partial results can be reduced, but a whole value
  /// cannot become partial.
  bool leads(Id from, Id to) const {
    const Placement &p = placements_[from], &q = placements_[to];
    return p.unreduced.includes(q.unreduced) && (q.unreduced.empty() || p.combiner == q.combiner);
  }

 private:
  struct Known {
    DType dtype;
    Shape shape;
    Id from, to;
    Reshard plan;
  };
  Reshard planned(const Type& whole, const Placement& from, const Placement& to) const;

  const Links& links_;
  PlacementTable& placements_;
  AtomSet barred_;
  Numbered<Known> known_;
};

}  // namespace tessera::inline v0::spmd
