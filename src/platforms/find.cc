#include "platforms/find.h"

#include "base/settings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace tessera::inline v0::platforms {

namespace {

namespace fs = std::filesystem;

/// A platform whose plug-in is in a Python package.
struct Known {
  std::string_view platform, package;
  /// Folders inside site-packages, the newest first, and the library in them.
  std::array<std::string_view, 3> folders;
  std::string_view library;
};
constexpr std::array kKnown{
    Known{"cuda",
          "jax-cuda13-pjrt",
          {"jax_plugins/xla_cuda13", "jax_plugins/xla_cuda12"},
          "xla_cuda_plugin.so"},
    Known{"rocm",
          "jax-rocm7-pjrt",
          {"jax_plugins/xla_rocm7", "jax_plugins/xla_rocm60"},
          "xla_rocm_plugin.so"},
    Known{"tpu", "libtpu", {"libtpu"}, "libtpu.so"},
};

std::string listed_path(std::string_view platform) {
  const std::string list = settings::environment("PJRT_NAMES_AND_LIBRARY_PATHS");
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const std::size_t colon = entry.find(':');
    if (colon != std::string_view::npos && entry.substr(0, colon) == platform)
      return std::string(entry.substr(colon + 1));
  }
  return "";
}

// The folders of packages below `prefix`/lib: python3.12/site-packages and the like.
void add_packages(const fs::path& prefix, std::vector<fs::path>& found) {
  std::error_code error;
  std::vector<fs::path> own;
  for (fs::directory_iterator at(prefix / "lib", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"})
      if (fs::is_directory(at->path() / packages, error)) own.push_back(at->path() / packages);
  }
  std::sort(own.begin(), own.end(), std::greater<>());  // newer Pythons first
  found.insert(found.end(), own.begin(), own.end());
}

}  // namespace

Search find_plugin(std::string_view platform) {
  Search search;
  search.path = listed_path(platform);
  if (!search.path.empty()) return search;
  search.places.emplace_back("PJRT_NAMES_AND_LIBRARY_PATHS");
  const auto known = std::find_if(kKnown.begin(), kKnown.end(),
                                  [&](const Known& k) { return k.platform == platform; });
  if (known == kKnown.end()) return search;
  search.package = known->package;
  std::vector<fs::path> packages;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string prefix = settings::environment(variable); !prefix.empty())
      add_packages(prefix, packages);
  if (const std::string home = settings::environment("HOME"); !home.empty())
    add_packages(fs::path(home) / ".local", packages);
  add_packages("/usr/local", packages);
  add_packages("/usr", packages);
  for (const fs::path& folder : packages) {
    search.places.push_back(folder.string());
    for (const std::string_view inside : known->folders) {
      const fs::path path = folder / inside / known->library;
      std::error_code error;
      if (!inside.empty() && fs::is_regular_file(path, error)) {
        search.path = path.string();
        return search;
      }
    }
  }
  return search;
}

}  // namespace tessera::inline v0::platforms
