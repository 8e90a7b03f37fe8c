// Which part of its cases a long test checks in this run. An entry of ctest that repeats a suite in
// another way (tests/CMakeLists.txt) asks for a part, because all cases in all ways take hours.
//
// TESSERA_TEST_SHARE=16 asks for every sixteenth case, and TESSERA_TURN, which .ci/run counts up
// with the commits, says with which the part begins, so that sixteen commits check all of them.
// TESSERA_TEST_ALL=1 checks all cases in every way.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace test {

inline std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Every case is checked, whatever share is asked for.
inline bool all_cases() { return number_of("TESSERA_TEST_ALL", 0) != 0; }

/// Counts up with the commits; 0 where nobody counts.
inline std::uint64_t turn() { return number_of("TESSERA_TURN", 0); }

/// Every `of`th case, beginning with number `first`.
struct Share {
  std::uint64_t of = 1, first = 0;

  bool has(std::uint64_t n) const { return n % of == first; }
};

inline Share asked_share() {
  const std::uint64_t of = all_cases() ? 1 : number_of("TESSERA_TEST_SHARE", 1);
  return of > 1 ? Share{of, turn() % of} : Share{};
}

}  // namespace test
