// Interpolation between the elements of an array.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// The options of map_coordinates: the order of the splines (0 or 1), what lies outside of x
/// (`mode`), and the constant `cval` for the mode "constant".
struct MapCoordinatesOptions {
  detail::Named named = detail::Named();
  std::int64_t order = 1;
  std::string mode = "constant";
  double cval = 0;
};
/// Interpolates x at coordinates given by one array per axis, of equal shape or broadcast: the
/// nearest element (`order` 0), or linear interpolation (1). `mode` says what lies outside:
/// "constant" is `cval`, "nearest" the last element, "wrap" repeats x, and "mirror" and "reflect"
/// mirror x about the last element or beyond it. The result has x's dtype; integers are rounded.
/// Throws ShapeError unless there are as many coordinates as x has axes and x has elements, and
/// Error for any other mode or order.
TESSERA_API Array map_coordinates(Operand x, const std::vector<Array>& coordinates,
                                  const MapCoordinatesOptions& options = {});

}  // namespace tessera::inline v0
