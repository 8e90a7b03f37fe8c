// Compares two program listings (docs/ir.md).
#pragma once

#include <optional>
#include <string>

namespace tessera::inline v0::processes {

/// The first differing equation of each listing, as one line with its source location. Function
/// names and locations are ignored; result variables are compared at the end of their program.
struct Difference {
  std::string here, there;
};
/// Compares listings that include locations; absent if the programs are equal.
std::optional<Difference> first_difference(const std::string& here, const std::string& there);

}  // namespace tessera::inline v0::processes
