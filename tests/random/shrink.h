// Runs many drawn cases and finds the simplest that fails: RapidCheck shrinks the tape that it was
// drawn from.
#pragma once

#include "ops/dice.h"

#include <gtest/gtest.h>

#include <rapidcheck/shrink/Shrink.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>

namespace check {

/// Describes the error of the case that a tape gives, or returns an empty text.
using Case = std::function<std::string(const walk::Tape&)>;

inline walk::Tape shrunk(walk::Tape tape, const Case& wrong) {
  auto fails = [&](const walk::Tape& t) { return !wrong(t).empty(); };
  auto first = [&](rc::Seq<walk::Tape> candidates) {
    while (auto next = candidates.next())
      if (fails(*next)) {
        tape = *next;
        return true;
      }
    return false;
  };
  auto smaller = [](std::uint32_t v) { return rc::shrink::towards(v, 0u); };
  for (bool again = true; again;)
    again = first(rc::shrink::removeChunks(tape)) || first(rc::shrink::eachElement(tape, smaller));
  return tape;
}

/// The number of cases is `fixed` or TESSERA_RANDOM_PROGRAMS, and the seed TESSERA_RANDOM_SEED.
inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Writes what is about to run to the file that TESSERA_RANDOM_LAST names, for cases that end the
/// process.
inline void note(const std::string& text) {
  if (const char* path = std::getenv("TESSERA_RANDOM_LAST")) std::ofstream(path) << text << "\n";
}
inline std::string to_string(const walk::Tape& tape) {
  std::string text;
  for (std::uint32_t n : tape) text += std::to_string(n) + " ";
  return text;
}
inline void note(const walk::Tape& tape) { note("tape " + to_string(tape)); }

inline void check_many(std::uint64_t fixed, std::size_t length, const Case& wrong) {
  const std::uint64_t count = setting("TESSERA_RANDOM_PROGRAMS", fixed),
                      seed = setting("TESSERA_RANDOM_SEED", 1);
  for (std::uint64_t k = 0; k < count; ++k) {
    std::mt19937_64 rng(seed * 1000003 + k);
    walk::Tape tape(length);
    for (std::uint32_t& n : tape)
      n = static_cast<std::uint32_t>(rng() % 27720);  // divisible by 2 to 12
    if (wrong(tape).empty()) continue;
    walk::Tape small = shrunk(tape, wrong);
    ADD_FAILURE() << "case " << k << " of seed " << seed << ": " << wrong(small) << "\ntape "
                  << to_string(small);
    return;
  }
}

}  // namespace check
