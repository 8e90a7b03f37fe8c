// Combines the hashes of several values.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::inline v0 {

template <std::integral T>
void mix(std::size_t& h, T v) {
  h ^= static_cast<std::size_t>(v) + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
}
inline void mix(std::size_t& h, const std::string& s) { mix(h, std::hash<std::string>()(s)); }
template <class T>
void mix(std::size_t& h, const std::vector<T>& list) {
  mix(h, list.size());
  for (const T& x : list) mix(h, x);
}

}  // namespace tessera::inline v0
