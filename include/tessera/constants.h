// Named constants, as in NumPy. They are C++ doubles, so they take the dtype of the other operand.
#pragma once

#include <tessera/config.h>

#include <numbers>

namespace tessera::inline v0 {

/// The ratio of a circle's circumference to its diameter.
inline constexpr double pi = std::numbers::pi;
/// Positive infinity.
inline constexpr double inf = __builtin_inf();
/// A quiet NaN.
inline constexpr double nan = __builtin_nan("");

}  // namespace tessera::inline v0
