// Attributes of our ops as attributes of StableHLO composites.
#pragma once

#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo {

/// "axis = 0 : i64, reverse = false"; nested programs become private functions.
std::string attributes_text(const Block& caller, const Op& op, const Attrs& attrs);

}  // namespace tessera::inline v0::stablehlo
