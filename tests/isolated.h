// Whether the tests run under TESSERA_ISOLATE=1: no two devices share memory then, and what is said
// of how often something is stored is another.
#pragma once

#include <cstdlib>
#include <string_view>

namespace test {

inline bool isolated() {
  const char* text = std::getenv("TESSERA_ISOLATE");
  return text && std::string_view(text) == "1";
}

}  // namespace test
