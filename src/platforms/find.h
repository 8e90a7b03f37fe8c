// Finds the plug-ins of known platforms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::platforms {

struct Search {
  std::string path;                 // of the plug-in; empty if none was found
  std::vector<std::string> places;  // those that were searched
  std::string package;              // PyPI's package with it; empty if the platform is unknown
};
/// Searches for the plug-in of a platform: first in PJRT_NAMES_AND_LIBRARY_PATHS, the list
/// "name:path,name:path" that JAX reads, and then among the packages of Python.
Search find_plugin(std::string_view platform);

}  // namespace tessera::inline v0::platforms
