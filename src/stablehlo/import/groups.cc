#include "stablehlo/import/groups.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo {

namespace {

Strings others_of(const MeshShape& mesh, const Strings& axes) {
  Strings others;
  for (const std::string& a : mesh.axes)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) others.push_back(a);
  return others;
}

// For each position along the other axes, the devices along `axes`.
IntLists along(const MeshShape& mesh, const Strings& axes) {
  const Strings others = others_of(mesh, axes);
  IntLists out(static_cast<std::size_t>(mesh.size_of(others)),
               Ints(static_cast<std::size_t>(mesh.size_of(axes))));
  for (std::int64_t d = 0; d < mesh.size(); ++d)
    out[static_cast<std::size_t>(mesh.index_along(d, others))]
       [static_cast<std::size_t>(mesh.index_along(d, axes))] = d;
  return out;
}

bool are_devices(const MeshShape& mesh, const IntLists& lists) {
  return std::all_of(lists.begin(), lists.end(), [&](const Ints& list) {
    return std::all_of(list.begin(), list.end(),
                       [&](std::int64_t d) { return d >= 0 && d < mesh.size(); });
  });
}

// The axes along which the positions of two devices differ, in the mesh's order.
Strings between(const MeshShape& mesh, std::int64_t a, std::int64_t b) {
  Strings axes;
  for (const std::string& axis : mesh.axes)
    if (mesh.index_along(a, {axis}) != mesh.index_along(b, {axis})) axes.push_back(axis);
  return axes;
}

// The axes that the first group follows, major first. Its second member is one step along the minor
// axis, the first member after a full pass along that is one step along the next axis, and so on.
// Absent if there are no axes that all groups follow.
std::optional<Strings> axes_of(const MeshShape& mesh, IntLists groups) {
  if (groups.empty() || groups[0].empty() || !are_devices(mesh, groups)) return std::nullopt;
  const Ints& first = groups[0];
  Strings axes;
  for (std::size_t step = 1; step < first.size();) {
    const Strings axis = between(mesh, first[0], first[step]);
    if (axis.size() != 1) return std::nullopt;
    axes.insert(axes.begin(), axis[0]);
    step *= static_cast<std::size_t>(mesh.size_of(axis[0]));
  }
  AxisSet each;
  for (const std::string& axis : axes) each.insert(axis);
  if (each.size() != axes.size()) return std::nullopt;
  IntLists found = along(mesh, axes);
  std::sort(found.begin(), found.end());
  std::sort(groups.begin(), groups.end());
  return found == groups ? std::optional(axes) : std::nullopt;
}

// The pairs along `axes`, if they are the same at every position of the other axes.
std::optional<IntLists> pairs_along(const MeshShape& mesh, const Strings& axes,
                                    const IntLists& pairs) {
  const Strings others = others_of(mesh, axes);
  std::vector<IntLists> moves(static_cast<std::size_t>(mesh.size_of(others)));
  for (const Ints& p : pairs) {
    const std::int64_t at = mesh.index_along(p[0], others);
    if (at != mesh.index_along(p[1], others)) return std::nullopt;
    moves[static_cast<std::size_t>(at)].push_back(
        {mesh.index_along(p[0], axes), mesh.index_along(p[1], axes)});
  }
  for (IntLists& m : moves) std::sort(m.begin(), m.end());
  if (std::any_of(moves.begin(), moves.end(), [&](const IntLists& m) { return m != moves[0]; }))
    return std::nullopt;
  return moves[0];
}

std::int64_t product_of(const MeshShape& mesh, std::size_t from, std::size_t to) {
  std::int64_t n = 1;
  for (std::size_t i = from; i < to; ++i) n *= mesh.sizes[i];
  return n;
}

}  // namespace

Over over_groups(const MeshShape& mesh, const Strings& manual, IntLists groups) {
  if (const std::optional<Strings> axes = axes_of(mesh, groups))
    return {*axes, mesh.size_of(*axes), {}};
  return {manual, mesh.size_of(manual), std::move(groups)};
}

// Uses the axes along which some pair moves or, if that fails, all manual axes.
std::optional<Moves> over_pairs(const MeshShape& mesh, const Strings& manual,
                                const IntLists& pairs) {
  const bool good =
      are_devices(mesh, pairs) &&
      std::all_of(pairs.begin(), pairs.end(), [](const Ints& p) { return p.size() == 2; });
  if (!good)  // the collective reports it
    return Moves{{manual, mesh.size_of(manual)}, pairs};
  AxisSet moved;
  for (const Ints& p : pairs)
    for (const std::string& axis : between(mesh, p[0], p[1])) moved.insert(axis);
  for (const Strings& axes : {mesh.ordered(moved), manual})
    if (!axes.empty())
      if (const std::optional<IntLists> found = pairs_along(mesh, axes, pairs))
        return Moves{{axes, mesh.size_of(axes)}, *found};
  return std::nullopt;
}

std::optional<AxisRange> quotient(const MeshShape& mesh, AxisRange range, std::int64_t divisor) {
  for (std::size_t at = range.end + 1; at-- > range.begin;)
    if (product_of(mesh, at, range.end) == divisor) return AxisRange{range.begin, at};
  return std::nullopt;
}
std::optional<AxisRange> remainder(const MeshShape& mesh, AxisRange range, std::int64_t divisor) {
  for (std::size_t at = range.end + 1; at-- > range.begin;)
    if (product_of(mesh, at, range.end) == divisor) return AxisRange{at, range.end};
  return std::nullopt;
}

}  // namespace tessera::inline v0::stablehlo
