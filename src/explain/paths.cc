#include "explain/paths.h"

#include <algorithm>

namespace tessera::inline v0::explain {

std::string pattern_of(const std::string& path) {
  std::string out;
  const std::size_t root = std::min(path.find('/'), path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool digit = path[i] >= '0' && path[i] <= '9';
    const bool whole = i > root && digit && path[i - 1] == '/';
    if (!whole) {
      out += path[i];
      continue;
    }
    std::size_t end = i;
    while (end < path.size() && path[end] >= '0' && path[end] <= '9') ++end;
    if (end < path.size() && path[end] != '/') {
      out += path[i];
      continue;
    }
    out += '*';
    i = end - 1;
  }
  return out;
}
std::string behind_root(const std::string& path) {
  const std::size_t at = path.find('/');
  return at == std::string::npos ? std::string() : path.substr(at);
}

}  // namespace tessera::inline v0::explain
