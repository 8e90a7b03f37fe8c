// Regions that combine two elements, and their neutral elements.
#pragma once

#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo {

/// "stablehlo.add" and so on; empty for a scatter that replaces elements.
std::string combining_op(Combiner how);
/// A region that combines two scalars.
RegionText combining_region(Combiner how, DType dtype);
/// The identity of the combiner: 0, 1, an infinity, or the extreme integer.
Literal neutral_element(Combiner how, DType dtype);

}  // namespace tessera::inline v0::stablehlo
