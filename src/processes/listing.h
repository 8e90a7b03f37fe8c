// Two programs as text (docs/ir.md), and where they part.
#pragma once

#include <optional>
#include <string>

namespace tessera::inline v0::processes {

/// The first equation of each that differs, in one line with its place in the source. What does not
/// count: names of functions, places, and what variables at the end are called.
struct Difference {
  std::string here, there;
};
/// Of listings with places; nothing where the programs are the same.
std::optional<Difference> first_difference(const std::string& here, const std::string& there);

}  // namespace tessera::inline v0::processes
