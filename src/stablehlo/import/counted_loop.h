// Turns a `while` with a known number of iterations into a scan, which can be differentiated in
// forward and reverse mode.
#pragma once

#include "stablehlo/import/importer.h"

#include <optional>

namespace tessera::inline v0::stablehlo {

/// The results of the `while` that is being imported, as a scan over its iterations. A carry that
/// is passed on unchanged becomes a constant of the scan. A row that is read at the counter becomes
/// an input of the scan, and a row written at the counter an output, if every other access to the
/// array allows it. Counters start at known numbers and grow by known steps. Returns nothing if the
/// number of iterations is unknown or more than 2^50, or if a counter that the condition reads
/// wraps around.
std::optional<Values> counted_loop(Reading& r, const RegionProgram& condition,
                                   const RegionProgram& body);

}  // namespace tessera::inline v0::stablehlo
