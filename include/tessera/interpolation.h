// Interpolation between the elements of an array.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// The options of map_coordinates: the `order` of the interpolation (0 or 1), the treatment of
/// coordinates outside x (`mode`), and the constant `cval` for the mode "constant".
struct MapCoordinatesOptions {
  detail::Named named = detail::Named();
  std::int64_t order = 1;
  std::string mode = "constant";
  double cval = 0;
};
/// Interpolates x at coordinates given by one array per axis, of equal shape or broadcast: the
/// nearest element (`order` 0), or linear interpolation (1). `mode` determines the values outside
/// x: "constant" uses `cval`, "nearest" the outermost element, "wrap" repeats x, "mirror" reflects
/// x about the centre of the outermost element (b | a b c | b), and "reflect" about its outer edge
/// (a | a b c | c). The result has x's dtype; integers are rounded. Throws ShapeError unless there
/// are as many coordinates as x has axes and x has elements, and Error for any other mode or order.
TESSERA_API Array map_coordinates(Operand x, const std::vector<Array>& coordinates,
                                  const MapCoordinatesOptions& options = {});

}  // namespace tessera::inline v0
