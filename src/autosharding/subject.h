// The program used to judge choices: the whole one, or one with fewer of its repeated layers.
#pragma once

#include "autosharding/variables.h"

#include <optional>

namespace tessera::inline v0::autosharding {

/// A program with the variable of each input and output; -1: its sharding is not chosen.
struct Subject {
  ProgramPtr program;
  std::vector<int> inputs, outputs;
};
Subject whole_subject(const explain::Question& question, const Space& space);

/// Two programs with `fewer` and `fewer + 2` layers instead of `layers`. They have the types and
/// ops of the whole program, so a figure that is linear in the number of layers can be
/// extrapolated: it is that of `first` plus `times()` the difference.
struct Shortened {
  Subject first, second;
  int layers = 0, fewer = 0;
  double times() const { return 0.5 * (layers - fewer); }
};
/// Absent if the program is small or has no repeated layers.
std::optional<Shortened> shortened(const explain::Question& question, const Space& space);

}  // namespace tessera::inline v0::autosharding
