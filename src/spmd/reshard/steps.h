// Single moves between placements, from which the planner assembles sequences.
#pragma once

#include "spmd/reshard/reshard.h"

#include <optional>

namespace tessera::inline v0::spmd {

struct Step {
  MoveKind kind;
  Placement after;
};

/// A resharding problem reduced to even parts: how far each dimension can be partitioned, and which
/// atoms may move.
struct Ground {
  const AtomMesh& mesh;
  /// For each dimension, a multiple of the size of every list of atoms that may partition it.
  std::vector<std::int64_t> extents;
  /// Atoms along which no move communicates.
  AtomSet barred = {};

  bool can_cut(const Placement& p, std::size_t d, Atom a) const {
    return extents[d] % (mesh.size(p.dims[d]) * mesh.size(a)) == 0;
  }
};

/// Removes `atoms` from the unreduced atoms of `p`.
void reduce(Placement& p, AtomSet atoms);
std::size_t common_prefix(const Atoms& a, const Atoms& b);

/// The atoms, as a set of bits, that are at the same position in two lists for one dimension. Both
/// lists have the same total size. A permutation from one to the other does not communicate along
/// these.
template <class Bits, class List, class SizeOf>
Bits at_rest(const List& a, const List& b, SizeOf&& size_of) {
  Bits still = 0;
  auto p = a.begin(), q = b.begin();
  decltype(size_of(*p)) before_p = 1, before_q = 1;  // number of parts made by the major atoms
  while (p != a.end() && q != b.end()) {
    if (before_p == before_q && *p == *q) still |= Bits{1} << *p;
    if (before_p <= before_q)
      before_p *= size_of(*p++);
    else
      before_q *= size_of(*q++);
  }
  return still;
}
AtomSet at_rest(const AtomMesh& mesh, const Atoms& a, const Atoms& b);

/// The atoms along which a move from one placement to another communicates.
AtomSet moved_atoms(const AtomMesh& mesh, MoveKind kind, const Placement& from,
                    const Placement& to);

/// Slices by the free atoms that come next in their dimensions of `to`.
std::optional<Placement> likely_slice(const Ground& ground, const Placement& at,
                                      const Placement& to);
/// Permutes atoms to their positions in `to`, if their sizes match the positions of the dimension.
std::optional<Placement> likely_permute(const Ground& ground, const Placement& at,
                                        const Placement& to);
/// Moves minor atoms of the dimensions in `sources` that come next elsewhere to their positions in
/// `to`.
std::optional<Placement> likely_all_to_all(const Ground& ground, const Placement& at,
                                           const Placement& to, std::uint64_t sources);
/// Gathers every atom that `to` does not have at that position, together with the atoms minor to
/// it.
std::optional<Placement> likely_all_gather(const Placement& at, const Placement& to);
/// Reduces and scatters unreduced atoms that come next in a dimension of `to`.
std::optional<Placement> likely_reduce_scatter(const Ground& ground, const Placement& at,
                                               const Placement& to);

/// A construction that always finds a sequence. It works in rounds: reductions and slices towards
/// `to`, a permutation if it helps, likely all_to_alls, and a gather of what is still wrong. The
/// last round gathers everything that is wrong, so there are few. With `eager`, atoms are sliced as
/// early as they fit, so that later moves transfer less.
std::vector<Step> built_steps(const Ground& ground, const Placement& from, const Placement& to,
                              bool eager);

}  // namespace tessera::inline v0::spmd
