// Paths of arguments and results, and which are those of repeated layers.
#pragma once

#include <string>

namespace tessera::inline v0::explain {

/// With a star for each number behind the root: "args[0]/layers/*/w".
std::string pattern_of(const std::string& path);
/// "/layers/3/w" of "args[0]/layers/3/w"; empty for a bare argument.
std::string behind_root(const std::string& path);

}  // namespace tessera::inline v0::explain
