// Shared by the tables of public functions: a test for each row, which draws its cases, and one
// that every function of the headers has a row or a reason.
#pragma once

#include "numpy/integers/declared.h"
#include "random/shrink.h"
#include "share.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

namespace drawn {

/// Draws `cases` of row number `index` from tapes of this length; `wrong` describes the error of a
/// case. A wrong case is shrunk, in at most `tries` steps if each is expensive. Unless
/// TESSERA_RANDOM_PROGRAMS says how many cases there are, a run draws every second one, and the
/// next commit draws the others.
inline void check_row(const std::string& name, std::size_t index, std::uint64_t cases,
                      std::size_t length, const check::Case& wrong, int tries = 1 << 30) {
  const std::uint64_t seed = check::setting("TESSERA_RANDOM_SEED", 1);
  const check::Case noted = [&](const walk::Tape& tape) {
    check::note(name + " tape " + check::to_string(tape));
    return wrong(tape);
  };
  const bool all = test::all_cases() || std::getenv("TESSERA_RANDOM_PROGRAMS");
  const std::uint64_t of = all ? 1 : 2;
  for (std::uint64_t k = test::turn() % of; k < cases; k += of) {
    std::mt19937_64 rng((seed * 1000003 + k) * 1000003 + index);
    walk::Tape tape(length);
    for (std::uint32_t& n : tape)
      n = static_cast<std::uint32_t>(rng() % 27720);  // divisible by 2 to 12
    if (noted(tape).empty()) continue;
    const walk::Tape small = check::shrunk(
        tape, [&](const walk::Tape& t) { return tries-- > 0 ? noted(t) : std::string(); });
    FAIL() << name << ", case " << k << " of seed " << seed << ": " << noted(small) << "\ntape "
           << check::to_string(small);
  }
}

/// The number of a row and its name, in characters that GoogleTest accepts.
inline std::string test_name(std::size_t index, const std::string& row) {
  std::string name = std::to_string(index) + "_";
  for (char ch : row)
    name += std::isalnum(static_cast<unsigned char>(ch)) ? std::string(1, ch)
            : ch == ':'                                  ? ""
                        : "_" + std::to_string(static_cast<int>(ch));
  return name;
}

using Reasons = std::map<std::string, std::string>;

/// Checks that every function of the public headers, except those left out, has a row or a reason
/// in `table`, and that every row is for a declared function; `others` are rows for functions that
/// the reader of the headers does not find.
inline void check_every_function(const std::string& table, const std::set<std::string>& with_row,
                                 const Reasons& left_out_headers, const Reasons& left_out,
                                 const std::set<std::string>& others = {}) {
  std::set<std::string> declared;
  for (const integers::Declared& d :
       integers::declared_functions(TESSERA_SOURCE_DIR "/include/tessera")) {
    if (left_out_headers.contains(d.header)) continue;
    declared.insert(d.name);
    EXPECT_TRUE(with_row.contains(d.name) || left_out.contains(d.name))
        << d.name << " of " << d.header << " has no row in " << table
        << " and no reason in declared.cc";
    EXPECT_FALSE(with_row.contains(d.name) && left_out.contains(d.name)) << d.name;
  }
  for (const std::string& name : with_row)
    EXPECT_TRUE(declared.contains(name) || others.contains(name)) << name << " is gone";
  for (const auto& [name, reason] : left_out)
    EXPECT_TRUE(declared.contains(name)) << name << " is gone";
}

}  // namespace drawn
