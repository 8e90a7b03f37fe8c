// The command line of the example.
#pragma once

#include "11_fsdp_transformer/model.h"

#include <cstdint>
#include <optional>
#include <string>

struct Options {
  std::int64_t devices = 8, steps = 300, compare = 10, batch = 16, characters = 300, memory = 0;
  fsdp_transformer::Sizes sizes;
  std::uint64_t seed = 1;
  double lr = 1e-3, temperature = 0.7;
  bool recompute = false;
  std::string form = "fsdp", data, out, resume;
};

/// Fills `o`. Returns an exit code if the program should end at once: 0 after --help, 2 after a
/// mistake, which is explained to the user.
std::optional<int> parse(int argc, char** argv, Options& o);
