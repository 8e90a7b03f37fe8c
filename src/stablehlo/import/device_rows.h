// Partial results as rows: an unreduced array is represented as an array with an additional
// dimension 0, which has a row for each device along the unreduced axes.
#pragma once

#include "stablehlo/import/import.h"

namespace tessera::inline v0::stablehlo {

/// The spec of the rows of an array with this spec, along these axes.
Spec spec_of_rows(Strings unreduced, const Spec& spec);

}  // namespace tessera::inline v0::stablehlo
