// Reductions that find the greatest or the least element of each row together with its position.
#pragma once

#include "stablehlo/import/importer.h"

#include <optional>

namespace tessera::inline v0::stablehlo::rules {

/// The results of a reduction of two operands along one dimension if the second operand holds
/// positions and the region keeps the better element, the first NaN, or else the lower position:
/// what JAX writes for argmax and argmin. Nothing for other reductions.
std::optional<Values> extremes(Reading& r, const Program& region, const Values& inputs,
                               const Values& starts, int along);

}  // namespace tessera::inline v0::stablehlo::rules
