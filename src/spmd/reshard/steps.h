// Single moves between placements, as the planner puts them together.
#pragma once

#include "spmd/reshard/reshard.h"

#include <optional>

namespace tessera::inline v0::spmd {

struct Step {
  MoveKind kind;
  Placement after;
};

/// What a question comes to when parts are even: how far each dimension can be cut, and how.
struct Ground {
  const AtomMesh& mesh;
  /// By dimension: a multiple of the size of every list of atoms that may cut it.
  std::vector<std::int64_t> extents;
  /// Atoms that no move is along.
  AtomSet barred = {};

  bool can_cut(const Placement& p, std::size_t d, Atom a) const {
    return extents[d] % (mesh.size(p.dims[d]) * mesh.size(a)) == 0;
  }
};

/// They are unreduced no more.
void reduce(Placement& p, AtomSet atoms);
std::size_t common_prefix(const Atoms& a, const Atoms& b);

/// Those of two lists for one dimension, of equal sizes in all, that are in the same place in both:
/// a permutation from one to the other is not along them. As a set of bits.
template <class Bits, class List, class SizeOf>
Bits at_rest(const List& a, const List& b, SizeOf&& size_of) {
  Bits still = 0;
  auto p = a.begin(), q = b.begin();
  decltype(size_of(*p)) before_p = 1, before_q = 1;  // the parts that what is major of them makes
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

/// Along which a move from one placement to another is.
AtomSet moved_atoms(const AtomMesh& mesh, MoveKind kind, const Placement& from,
                    const Placement& to);

/// Free atoms cut as `to` has them, as long as they come next in their dimensions.
std::optional<Placement> likely_slice(const Ground& ground, const Placement& at,
                                      const Placement& to);
/// The atoms in the places of `to`, as far as each dimension has places of their sizes.
std::optional<Placement> likely_permute(const Ground& ground, const Placement& at,
                                        const Placement& to);
/// Last atoms of the dimensions in `sources` that come next elsewhere, at their places in `to`.
std::optional<Placement> likely_all_to_all(const Ground& ground, const Placement& at,
                                           const Placement& to, std::uint64_t sources);
/// What is in a place that `to` does not have it in, and what lies behind it, is gathered.
std::optional<Placement> likely_all_gather(const Placement& at, const Placement& to);
/// Atoms that are not unreduced in `to` and come next there are scattered.
std::optional<Placement> likely_reduce_scatter(const Ground& ground, const Placement& at,
                                               const Placement& to);

/// A sequence that is always found: reductions and slices that lead towards `to`, a permutation
/// where one helps, likely all_to_alls, a gather of what is left, and again. In rounds, the last of
/// which gathers all that is wrong, so there are few. With `eager`, what is needed is sliced early,
/// wherever it fits, so that less is moved.
std::vector<Step> built_steps(const Ground& ground, const Placement& from, const Placement& to,
                              bool eager);

}  // namespace tessera::inline v0::spmd
