#include "spmd/reshard/steps.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

using Sources = std::uint64_t;

// Atoms that neither partition the value nor are unreduced.
AtomSet free_atoms(const Ground& g, const Placement& at) { return g.mesh.all() - at.used(); }

// The atoms that `to` has after those of the dimension; empty if the dimension's atoms are not a
// prefix of those in `to`.
Atoms wanted(const Placement& at, const Placement& to, std::size_t d) {
  const Atoms &has = at.dims[d], &all = to.dims[d];
  if (common_prefix(has, all) < has.size()) return {};
  return {all.begin() + has.size(), all.end()};
}

// The number of atoms that are already at their final position.
std::size_t settled(const Placement& at, const Placement& to) {
  std::size_t n = 0;
  for (std::size_t d = 0; d < at.dims.size(); ++d) n += common_prefix(at.dims[d], to.dims[d]);
  return n;
}

std::optional<Placement> unless_same(Placement next, const Placement& at) {
  if (next == at) return std::nullopt;
  return next;
}

}  // namespace

void reduce(Placement& p, AtomSet atoms) {
  p.unreduced -= atoms;
  if (p.unreduced.empty()) p.combiner = Combiner::add;
}

std::size_t common_prefix(const Atoms& a, const Atoms& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

AtomSet at_rest(const AtomMesh& mesh, const Atoms& a, const Atoms& b) {
  const auto bits = at_rest<std::uint64_t>(a, b, [&](Atom n) { return mesh.size(n); });
  AtomSet set;
  for (Atom n : a)
    if (bits >> n & 1) set.insert(n);
  return set;
}

AtomSet moved_atoms(const AtomMesh& mesh, MoveKind kind, const Placement& from,
                    const Placement& to) {
  AtomSet moved = from.unreduced - to.unreduced;
  for (std::size_t d = 0; d < from.dims.size(); ++d) {
    if (from.dims[d] == to.dims[d]) continue;
    const AtomSet was(from.dims[d]), is(to.dims[d]);
    if (kind == MoveKind::permute)
      moved |= (was | is) - at_rest(mesh, from.dims[d], to.dims[d]);
    else if (kind == MoveKind::exchange)
      moved |= was | is;
    else
      moved |= (was | is) - (was & is);
  }
  return moved;
}

std::optional<Placement> likely_slice(const Ground& g, const Placement& at, const Placement& to) {
  Placement next = at;
  const AtomSet free = free_atoms(g, at);
  for (std::size_t d = 0; d < at.dims.size(); ++d)
    for (Atom a : wanted(at, to, d)) {
      if (!free.contains(a) || !g.can_cut(next, d, a)) break;
      next.dims[d].push_back(a);
    }
  return unless_same(std::move(next), at);
}

std::optional<Placement> likely_permute(const Ground& g, const Placement& at, const Placement& to) {
  // For each dimension, the number of atoms that it has of each size.
  const auto size = [&](Atom a) { return g.mesh.size(a); };
  std::vector<std::vector<std::pair<std::int64_t, int>>> room(at.dims.size());
  AtomSet pool = (at.cut() | to.cut()) - at.unreduced;
  for (std::size_t d = 0; d < at.dims.size(); ++d) {
    for (Atom a : at.dims[d]) {
      auto it = std::find_if(room[d].begin(), room[d].end(),
                             [&](const auto& r) { return r.first == size(a); });
      if (it == room[d].end()) it = room[d].insert(it, {size(a), 0});
      ++it->second;
    }
  }
  Placement next = at;
  const auto place = [&](std::size_t d, Atom a) {
    const auto it = std::find_if(room[d].begin(), room[d].end(),
                                 [&](const auto& r) { return r.first == size(a); });
    if (!pool.contains(a) || it == room[d].end() || it->second == 0) return false;
    --it->second;
    pool.erase(a);
    next.dims[d].push_back(a);
    return true;
  };
  for (std::size_t d = 0; d < at.dims.size(); ++d) {
    next.dims[d].clear();
    for (Atom a : to.dims[d])
      if (!place(d, a)) break;
  }
  // Atoms that are needed in another dimension go to the minor end, in the order in which they are
  // needed, so that one all_to_all can move them on. Before them come as many of the other atoms as
  // fit.
  const auto place_anywhere = [&](Atom a, std::size_t but) {
    for (std::size_t d = 0; d < at.dims.size(); ++d)
      if (d != but && place(d, a)) return;
    if (but < at.dims.size()) place(but, a);
  };
  std::vector<std::pair<Atom, std::size_t>> needed;  // each with the dimension that needs it
  for (std::size_t d = 0; d < at.dims.size(); ++d)
    for (Atom a : to.dims[d])
      if (pool.contains(a)) needed.emplace_back(a, d);
  const auto space = [&](std::int64_t of) {
    int n = 0;
    for (const auto& dim : room)
      for (const auto& r : dim) n += r.first == of ? r.second : 0;
    for (const auto& [a, d] : needed) n -= size(a) == of;
    return n;
  };
  for (Atom a : (at.cut() - to.cut()).atoms())
    if (pool.contains(a) && space(size(a)) > 0) place_anywhere(a, at.dims.size());
  for (const auto& [a, d] : needed) place_anywhere(a, d);
  return unless_same(std::move(next), at);
}

std::optional<Placement> likely_all_to_all(const Ground& g, const Placement& at,
                                           const Placement& to, Sources sources) {
  const std::size_t rank = at.dims.size();
  // The position in each source dimension from which on atoms are moved: after those that are
  // already right.
  std::vector<std::size_t> from(rank);
  AtomSet pool;
  const auto collect = [&] {
    pool = {};
    for (std::size_t d = 0; d < rank; ++d)
      if (sources >> d & 1)
        for (std::size_t k = from[d]; k < at.dims[d].size(); ++k) pool.insert(at.dims[d][k]);
  };
  for (std::size_t d = 0; d < rank; ++d) from[d] = common_prefix(at.dims[d], to.dims[d]);
  Placement next;
  for (;;) {
    collect();
    if (pool.empty()) return std::nullopt;
    next = at;
    AtomSet taken;
    for (std::size_t d = 0; d < rank; ++d) {
      if (sources >> d & 1) {
        next.dims[d].resize(from[d]);
        continue;
      }
      for (Atom a : wanted(at, to, d)) {
        if (!pool.contains(a) || !g.can_cut(next, d, a)) break;
        next.dims[d].push_back(a);
        taken.insert(a);
      }
    }
    if (taken == pool) return next;
    // Atoms that no dimension takes must stay, and so must all atoms major to them.
    for (std::size_t d = 0; d < rank; ++d)
      if (sources >> d & 1)
        for (std::size_t k = at.dims[d].size(); k > from[d]; --k)
          if (!taken.contains(at.dims[d][k - 1])) {
            from[d] = k;
            break;
          }
  }
}

std::optional<Placement> likely_all_gather(const Placement& at, const Placement& to) {
  Placement next = at;
  for (std::size_t d = 0; d < at.dims.size(); ++d)
    next.dims[d].resize(common_prefix(at.dims[d], to.dims[d]));
  return unless_same(std::move(next), at);
}

std::optional<Placement> likely_reduce_scatter(const Ground& g, const Placement& at,
                                               const Placement& to) {
  Placement next = at;
  const AtomSet reduced = at.unreduced - to.unreduced;
  for (std::size_t d = 0; d < at.dims.size(); ++d)
    for (Atom a : wanted(at, to, d)) {
      if (!reduced.contains(a) || !g.can_cut(next, d, a)) break;
      next.dims[d].push_back(a);
      reduce(next, AtomSet(Atoms{a}));
    }
  return unless_same(std::move(next), at);
}

namespace {

// The all_to_all that brings most atoms to their final position.
std::optional<Placement> best_all_to_all(const Ground& g, const Placement& at,
                                         const Placement& to) {
  const std::size_t rank = at.dims.size();
  std::optional<Placement> best;
  // Try all dimensions with misplaced minor atoms together, then each one alone.
  Sources wrong = 0;
  for (std::size_t d = 0; d < rank; ++d)
    if (common_prefix(at.dims[d], to.dims[d]) < at.dims[d].size()) wrong |= Sources{1} << d;
  best = likely_all_to_all(g, at, to, wrong);
  for (std::size_t d = 0; d < rank; ++d) {
    if (!(wrong >> d & 1)) continue;
    std::optional<Placement> one = likely_all_to_all(g, at, to, Sources{1} << d);
    if (one && (!best || settled(*one, to) > settled(*best, to))) best = std::move(one);
  }
  return best;
}

// Slices by every free atom that is needed, in its own dimension or in any other.
std::optional<Placement> eager_slice(const Ground& g, const Placement& at, const Placement& to) {
  Placement next = at;
  const AtomSet free = free_atoms(g, at);
  for (std::size_t d = 0; d < at.dims.size(); ++d)
    for (Atom a : to.dims[d]) {
      if (!free.contains(a)) continue;
      std::size_t where = d;
      for (std::size_t e = 0; e < at.dims.size() && !g.can_cut(next, where, a); ++e) where = e;
      if (g.can_cut(next, where, a)) next.dims[where].push_back(a);
    }
  return unless_same(std::move(next), at);
}

}  // namespace

std::vector<Step> built_steps(const Ground& g, const Placement& from, const Placement& to,
                              bool eager) {
  std::vector<Step> steps;
  Placement at = from;
  const auto go = [&](MoveKind kind, std::optional<Placement> next) {
    if (!next) return false;
    at = *next;
    steps.push_back({kind, std::move(*next)});
    return true;
  };
  const auto slice = [&] { return go(MoveKind::slice, likely_slice(g, at, to)); };
  while (go(MoveKind::reduce_scatter, likely_reduce_scatter(g, at, to)) || slice()) {
  }
  if (eager) go(MoveKind::slice, eager_slice(g, at, to));
  if (at.unreduced != to.unreduced) {
    Placement next = at;
    reduce(next, at.unreduced - to.unreduced);
    go(MoveKind::all_reduce, std::move(next));
    while (slice()) {
    }
  }
  std::optional<Placement> permuted = likely_permute(g, at, to);
  if (permuted && settled(*permuted, to) > settled(at, to)) go(MoveKind::permute, permuted);
  while (at != to) {
    if (slice() || go(MoveKind::all_to_all, best_all_to_all(g, at, to))) continue;
    if (!go(MoveKind::all_gather, likely_all_gather(at, to)))
      throw InternalError("no move leads from " + g.mesh.to_string(at) + " to " +
                          g.mesh.to_string(to));
  }
  return steps;
}

}  // namespace tessera::inline v0::spmd
