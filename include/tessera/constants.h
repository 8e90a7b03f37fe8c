// Named constants, as in NumPy. They are C++ doubles, so they take the dtype of the other operand.
#pragma once

#include <tessera/config.h>

#include <limits>
#include <numbers>

namespace tessera::inline v0 {

inline constexpr double pi = std::numbers::pi;
inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace tessera::inline v0
