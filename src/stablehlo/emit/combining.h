// Regions that combine two elements, and what changes nothing in them.
#pragma once

#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo {

/// "stablehlo.add"; of a scatter that replaces, none.
std::string combining_op(Combiner how);
/// Of two scalars.
RegionText combining_region(Combiner how, DType dtype);
/// What leaves the other as it is: 0, 1, an infinity, the least integer.
Literal neutral_element(Combiner how, DType dtype);

}  // namespace tessera::inline v0::stablehlo
