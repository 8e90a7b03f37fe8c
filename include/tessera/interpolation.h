// Values between the elements of an array.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0 {

struct MapCoordinatesOptions {
  detail::Named named = detail::Named();
  std::int64_t order = 1;
  std::string mode = "constant";
  double cval = 0;
};
/// x between its elements: at the places that one array of coordinates an axis says, of one shape
/// or broadcast, by the nearest element (`order` 0) or linearly between those around (1). Outside
/// by `mode`: "constant" has `cval` there, "nearest" the last element, "wrap" begins again,
/// "mirror" and "reflect" go back, from the last element or from behind it. In x's dtype; of
/// integers the nearest. ShapeError unless there are as many coordinates as x has axes and x has
/// elements, Error for another mode or order.
TESSERA_API Array map_coordinates(Operand x, const std::vector<Array>& coordinates,
                                  const MapCoordinatesOptions& options = {});

}  // namespace tessera::inline v0
