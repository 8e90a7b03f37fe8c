#include "stablehlo/import/groups.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo {

namespace {

// Axes in any order are tried while they are so few.
constexpr std::size_t kMostTried = 4;

Strings others_of(const MeshShape& mesh, const Strings& axes) {
  Strings others;
  for (const std::string& a : mesh.axes)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) others.push_back(a);
  return others;
}

// For each place along the other axes, the devices along these.
IntLists along(const MeshShape& mesh, const Strings& axes) {
  const Strings others = others_of(mesh, axes);
  IntLists out(static_cast<std::size_t>(mesh.size_of(others)),
               Ints(static_cast<std::size_t>(mesh.size_of(axes))));
  for (std::int64_t d = 0; d < mesh.size(); ++d)
    out[static_cast<std::size_t>(mesh.index_along(d, others))]
       [static_cast<std::size_t>(mesh.index_along(d, axes))] = d;
  return out;
}

// All choices of axes, few first, those in the mesh's order before others.
std::vector<Strings> choices(const MeshShape& mesh) {
  std::vector<Strings> out;
  const std::size_t n = mesh.axes.size();
  if (n > kMostTried) return {mesh.axes};
  for (std::size_t count = 0; count <= n; ++count)
    for (std::size_t mask = 0; mask < std::size_t{1} << n; ++mask) {
      std::vector<std::size_t> chosen;
      for (std::size_t i = 0; i < n; ++i)
        if (mask >> i & 1) chosen.push_back(i);
      if (chosen.size() != count) continue;
      do {
        Strings axes;
        for (std::size_t i : chosen) axes.push_back(mesh.axes[i]);
        out.push_back(std::move(axes));
      } while (std::next_permutation(chosen.begin(), chosen.end()));
    }
  return out;
}

std::int64_t product(const MeshShape& mesh, std::size_t from, std::size_t to) {
  std::int64_t n = 1;
  for (std::size_t i = from; i < to; ++i) n *= mesh.sizes[i];
  return n;
}

}  // namespace

Over over_groups(const MeshShape& mesh, IntLists groups) {
  IntLists sorted = groups;
  std::sort(sorted.begin(), sorted.end());
  for (const Strings& axes : choices(mesh)) {
    if (axes.empty()) continue;
    IntLists found = along(mesh, axes);
    std::sort(found.begin(), found.end());
    if (found == sorted) return {axes, mesh.size_of(axes), {}};
  }
  return {mesh.axes, mesh.size(), std::move(groups)};
}

Moves over_pairs(const MeshShape& mesh, const IntLists& pairs) {
  const auto known = [&](std::int64_t d) { return d >= 0 && d < mesh.size(); };
  const bool good = std::all_of(pairs.begin(), pairs.end(), [&](const Ints& p) {
    return p.size() == 2 && known(p[0]) && known(p[1]);
  });
  for (const Strings& axes : good ? choices(mesh) : std::vector<Strings>()) {
    if (axes.empty()) continue;
    const Strings others = others_of(mesh, axes);
    std::vector<IntLists> moves(static_cast<std::size_t>(mesh.size_of(others)));
    bool inside = true;
    for (const Ints& p : pairs) {
      const std::int64_t at = mesh.index_along(p[0], others);
      inside = inside && at == mesh.index_along(p[1], others);
      moves[static_cast<std::size_t>(at)].push_back(
          {mesh.index_along(p[0], axes), mesh.index_along(p[1], axes)});
    }
    for (IntLists& m : moves) std::sort(m.begin(), m.end());
    if (inside &&
        std::all_of(moves.begin(), moves.end(), [&](const IntLists& m) { return m == moves[0]; }))
      return {{axes, mesh.size_of(axes)}, moves[0]};
  }
  return {{mesh.axes, mesh.size()}, pairs};
}

std::optional<AxisRange> quotient(const MeshShape& mesh, AxisRange range, std::int64_t divisor) {
  for (std::size_t at = range.end + 1; at-- > range.begin;)
    if (product(mesh, at, range.end) == divisor) return AxisRange{range.begin, at};
  return std::nullopt;
}
std::optional<AxisRange> remainder(const MeshShape& mesh, AxisRange range, std::int64_t divisor) {
  for (std::size_t at = range.end + 1; at-- > range.begin;)
    if (product(mesh, at, range.end) == divisor) return AxisRange{at, range.end};
  return std::nullopt;
}

}  // namespace tessera::inline v0::stablehlo
