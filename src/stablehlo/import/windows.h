// Windows of reductions.
#pragma once

#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo::rules {

/// The attributes of windows with their defaults; refuses what no window is.
ops::WindowDims window_dims(Reading& r, int rank);
/// How many windows there are along each dimension.
Shape windows_of(Reading& r, const Shape& x, const ops::WindowDims& d);
/// Whether every window holds elements only: no padding, no holes.
bool is_unpadded(const ops::WindowDims& d);
/// The direction in which a region compares its two arguments, the first with the second; empty
/// where it is anything else.
std::string compared(const RegionSyntax& region);

}  // namespace tessera::inline v0::stablehlo::rules
