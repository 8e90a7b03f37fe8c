// The command line of the example.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

struct Options {
  std::int64_t devices = 4, epochs = 12, batch = 64, accumulate = 1;
  std::uint64_t seed = 1;
  double lr = 1e-3;
  bool augment = false;
  std::string precision = "f32", optimizer = "adam", data, out, evaluate;
  std::int64_t steps = 0;  // stop after this many; 0: run all epochs
};

/// Fills `o`. Returns an exit code if the program should end at once: 0 after --help, 2 after a
/// mistake, which is explained to the user.
std::optional<int> parse(int argc, char** argv, Options& o);
