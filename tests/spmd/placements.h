// Placements as tests draw and list them.
#pragma once

#include "spmd/place/placement.h"

#include <algorithm>
#include <functional>
#include <random>

namespace tessera::testing {

/// A generator that gives the same numbers with every standard library.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint32_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::mt19937 engine_;
};

/// Every placement of a value of that rank, without unreduced atoms.
inline std::vector<spmd::Placement> all_placements(const spmd::AtomMesh& mesh, int rank) {
  std::vector<spmd::Placement> all;
  spmd::Placement p = spmd::Placement::replicated(rank);
  const std::function<void(std::size_t)> from = [&](std::size_t d) {
    if (d == p.dims.size()) {
      all.push_back(p);
      return;
    }
    from(d + 1);
    for (int a = 0; a < mesh.count(); ++a) {
      if (p.cut().contains(static_cast<spmd::Atom>(a))) continue;
      p.dims[d].push_back(static_cast<spmd::Atom>(a));
      from(d);
      p.dims[d].pop_back();
    }
  };
  from(0);
  return all;
}

/// Each atom shards a dimension or none; atoms in `but` shard nothing.
inline spmd::Placement drawn_placement(Draw& draw, const spmd::AtomMesh& mesh, int rank,
                                       spmd::AtomSet but = {}) {
  spmd::Placement p = spmd::Placement::replicated(rank);
  spmd::Atoms atoms = (mesh.all() - but).atoms();
  for (std::size_t i = atoms.size(); i > 1; --i)
    std::swap(atoms[i - 1], atoms[static_cast<std::size_t>(draw.below(static_cast<int>(i)))]);
  for (spmd::Atom a : atoms)
    if (const int d = draw.below(rank + 1); d < rank)
      p.dims[static_cast<std::size_t>(d)].push_back(a);
  return p;
}

}  // namespace tessera::testing
