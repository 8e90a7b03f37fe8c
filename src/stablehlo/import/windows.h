// Helpers for windowed reductions.
#pragma once

#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo::rules {

/// Reads the attributes of windows with their defaults; fails if they are not valid.
ops::WindowDims window_dims(Reading& r, int rank);
/// The number of windows along each dimension.
Shape windows_of(Reading& r, const Shape& x, const ops::WindowDims& d);
/// Whether every window contains only elements of x: there is no padding and no dilation.
bool is_unpadded(const ops::WindowDims& d);
/// The direction in which a region compares its first argument with its second; empty if the region
/// does anything else.
std::string compared(const RegionSyntax& region);

}  // namespace tessera::inline v0::stablehlo::rules
