// Key paths of arguments and results, and how to recognise those of repeated layers.
#pragma once

#include <string>

namespace tessera::inline v0::explain {

/// The path with a star for each number after the root: "args[0]/layers/*/w".
std::string pattern_of(const std::string& path);
/// The part after the root: "/layers/3/w" for "args[0]/layers/3/w"; empty for a bare argument.
std::string behind_root(const std::string& path);

}  // namespace tessera::inline v0::explain
