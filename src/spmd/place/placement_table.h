// Interns placements: equal placements have the same number.
#pragma once

#include "base/numbered.h"
#include "spmd/place/placement.h"

#include <cstdint>
#include <deque>
#include <utility>

namespace tessera::inline v0::spmd {

class PlacementTable {
 public:
  using Id = Numbered<Placement>::Id;
  static constexpr Id none = static_cast<Id>(-1);

  explicit PlacementTable(const AtomMesh& mesh) : mesh_(mesh) {}

  const AtomMesh& mesh() const { return mesh_; }
  Id id(Placement wanted) {
    const Id id = placements_.id(std::move(wanted));
    if (id == specs_.size()) {
      const Placement& placement = placements_[id];
      specs_.push_back(mesh_.atom_spec(placement));
      AxisSet& used = used_.emplace_back();
      for (Atom a : placement.used().atoms()) used.insert(mesh_.atom_mesh().axes[a]);
    }
    return id;
  }
  const Placement& operator[](Id id) const { return placements_[id]; }
  const Spec& spec(Id id) const { return specs_[id]; }
  /// Names of the atoms that partition the value or over which it is partial. A device's part of a
  /// value with this placement varies at most over these.
  const AxisSet& axes(Id id) const { return used_[id]; }

  /// `p` without atoms on dimensions of size 0 or 1, and without partial results.
  Id divided(const Placement& p, const Shape& whole) {
    bool fits = p.unreduced.empty();
    for (int d = 0; d < whole.rank() && fits; ++d)
      fits = whole[d] > 1 || p.dims[static_cast<std::size_t>(d)].empty();
    if (fits) return id(p);
    Placement q = Placement::replicated(whole.rank());
    for (int d = 0; d < whole.rank(); ++d)
      if (const auto k = static_cast<std::size_t>(d); whole[d] > 1) q.dims[k] = p.dims[k];
    return id(std::move(q));
  }
  Id replicated(int rank) { return id(Placement::replicated(rank)); }

 private:
  const AtomMesh& mesh_;
  Numbered<Placement> placements_;
  std::deque<Spec> specs_;
  std::deque<AxisSet> used_;
};

}  // namespace tessera::inline v0::spmd
