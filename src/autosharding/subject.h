// A program whose choices are judged: the whole one, or one with fewer of its repeated layers.
#pragma once

#include "autosharding/variables.h"

#include <optional>

namespace tessera::inline v0::autosharding {

/// A program with the variables of its inputs and outputs; -1: nothing is asked of it.
struct Subject {
  ProgramPtr program;
  std::vector<int> inputs, outputs;
};
Subject whole_subject(const explain::Question& question, const Space& space);

/// Two programs that have `fewer` and `fewer + 2` layers where the whole one has `layers`. Types and
/// ops are those of the whole one, so a figure that grows with the number of layers by the same for
/// each is, of the whole one, that of the first and `times()` the difference.
struct Shortened {
  Subject first, second;
  int layers = 0, fewer = 0;
  double times() const { return 0.5 * (layers - fewer); }
};
/// Nothing where the program is small, or no layers repeat in it.
std::optional<Shortened> shortened(const explain::Question& question, const Space& space);

}  // namespace tessera::inline v0::autosharding
