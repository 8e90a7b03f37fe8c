// Interpolates between the elements of an array of any rank.
#include <tessera/arithmetic.h>
#include <tessera/interpolation.h>
#include <tessera/operators.h>

#include "api/numpy/array_helpers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0 {

using detail::composed1;
using detail::rank_of;

namespace {
using Arrays = std::vector<Array>;
using In = std::span<const Array>;

// Only "constant" gives another value outside the array.
constexpr std::array<const char*, 5> kModes{"constant", "nearest", "wrap", "mirror", "reflect"};

Array nonzero_share(const Array& x) {
  const Array whole = trunc(x);
  return whole + where(abs(x - whole) >= 0.5, sign(x), 0.0);
}

// Maps integer positions into an axis of n elements. "mirror" reflects about the outermost
// elements; "reflect" reflects about their outer edges, so that they repeat.
Array inside(const Array& i, std::int64_t n, const std::string& mode) {
  if (mode == "wrap") return mod(i, n);
  if (mode == "mirror" && n > 1) return abs(mod(i + (n - 1), 2 * (n - 1)) - (n - 1));
  if (mode == "reflect") {
    const Array around = mod(i, 2 * n);
    return minimum(around, (2 * n - 1) - around);
  }
  return clip(i, 0, n - 1);
}

// The elements to read along one axis, and their weights; `there` is false outside ("constant").
struct GridNode {
  Array index, share, there;
};
std::vector<GridNode> nodes_of(const Array& coordinate, std::int64_t n,
                               const MapCoordinatesOptions& o) {
  const Array at = detail::in_floats(coordinate);
  std::vector<GridNode> nodes;
  const auto add = [&](const Array& i, const Array& share) {
    const Array whole = astype(i, DType::int64);
    nodes.push_back({inside(whole, n, o.mode), share, (whole >= 0) & (whole < n)});
  };
  if (o.order == 0) {
    add(nonzero_share(at), ones_like(at));
  } else {
    const Array below = floor(at), share = at - below;
    add(below, 1 - share);
    add(below + 1, share);
  }
  return nodes;
}

void check_axes(In in, const MapCoordinatesOptions& o, const SourceLoc& loc) {
  const auto rank = static_cast<std::size_t>(rank_of(in[0]));
  const bool known =
      std::any_of(kModes.begin(), kModes.end(), [&](const char* mode) { return o.mode == mode; });
  if (!known || o.order < 0 || o.order > 1)
    Message("map_coordinates")
        .problem("the mode \"" + o.mode + "\" and the order " + std::to_string(o.order))
        .rule(
            "modes are constant, nearest, wrap, mirror and reflect; the order is 0, the nearest "
            "element, or 1, linear between elements")
        .from(loc)
        .advice("leave both out for order 1 with `cval` outside")
        .raise<Error>();
  if (in.size() - 1 != rank || rank == 0)
    Message("map_coordinates")
        .problem(detail::counted(in.size() - 1, "array") +
                 " of coordinates for an operand of shape " + to_string(in[0].shape()))
        .rule("there is one for each axis, of one axis or more")
        .from(loc)
        .advice("rows of one array are coordinates by unstack(rows)")
        .raise<ShapeError>();
  if (in[0].size() == 0)
    Message("map_coordinates")
        .problem("the operand has shape " + to_string(in[0].shape()))
        .rule("it has elements to read")
        .from(loc)
        .advice("give it some")
        .raise<ShapeError>();
}
}  // namespace

Array map_coordinates(Operand x, const std::vector<Array>& coordinates,
                      const MapCoordinatesOptions& o) {
  Arrays all{x.array};
  all.insert(all.end(), coordinates.begin(), coordinates.end());
  return composed1("map_coordinates", all, x.loc, [&](In in) {
    check_axes(in, o, x.loc);
    const Array& from = in[0];
    const Shape shape = from.shape();
    const Array elements = ravel(from);
    // All corners of the cell: bit d of a corner's number selects the node along axis d.
    std::vector<std::vector<GridNode>> nodes;
    for (std::size_t d = 0; d < shape.size(); ++d)
      nodes.push_back(nodes_of(in[d + 1], shape[d], o));
    const std::size_t each = nodes[0].size(),
                      corners = each == 1 ? 1 : std::size_t{1} << shape.size();
    std::optional<Array> sum;
    for (std::size_t corner = 0; corner < corners; ++corner) {
      std::optional<Array> position, share, there;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const GridNode& node = nodes[d][corner >> d & (each - 1)];
        position = position ? *position * shape[d] + node.index : node.index;
        share = share ? *share * node.share : node.share;
        there = there ? *there & node.there : node.there;
      }
      Array value = take(elements, *position);
      if (o.mode == kModes.front())
        value = where(*there, value, astype(Array(o.cval), from.dtype()));
      const Array part = *share * value;
      sum = sum ? *sum + part : part;
    }
    const bool whole = !is_inexact(from.dtype());
    return astype(whole ? nonzero_share(*sum) : *sum, from.dtype());
  });
}

}  // namespace tessera::inline v0
