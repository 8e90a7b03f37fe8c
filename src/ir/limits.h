// What arrays are bounded by, besides memory.
#pragma once

namespace tessera::inline v0 {

/// Kernels, printing and derivatives nest a loop a dimension; NumPy draws the line at the same
/// place.
inline constexpr int kMostDims = 64;

}  // namespace tessera::inline v0
