// Named constants, as in NumPy. They are C++ doubles, so they take the dtype of the other operand.
#pragma once

#include <tessera/config.h>

#include <numbers>

namespace tessera::inline v0 {

inline constexpr double pi = std::numbers::pi;
inline constexpr double inf = __builtin_inf();
inline constexpr double nan = __builtin_nan("");

}  // namespace tessera::inline v0
