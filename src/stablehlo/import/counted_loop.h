// Loops that count: a `while` whose number of turns is known becomes a scan, which has a derivative
// in both directions.
#pragma once

#include "stablehlo/import/importer.h"

#include <optional>

namespace tessera::inline v0::stablehlo {

/// The results of the `while` that is being imported, as a scan over its turns. A carry that is
/// handed on unchanged is a constant of the scan; a row that is read at the counter is one of its
/// inputs, and a row that is written at the counter one of its outputs, where every other access to
/// the array allows it. Counters start at known numbers and grow by known steps.
/// None where the number of turns is not known, is more than 2^50, or where a counter that the
/// condition reads wraps around.
std::optional<Values> counted_loop(Reading& r, const RegionProgram& condition,
                                   const RegionProgram& body);

}  // namespace tessera::inline v0::stablehlo
