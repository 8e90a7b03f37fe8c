// Updates in place: which results are written where an operand was.
//
// dynamic_update_slice and the scatters change a few elements of an array. Where nobody reads the
// operand afterwards they write those elements into its memory and leave the others alone. A loop
// whose body does nothing else to a carry keeps it in one place for all turns; a branch does too.
#pragma once

#include "codegen/tape/context.h"

#include <vector>

namespace tessera::inline v0::tape {

/// By result of an equation of `p`: the operand that it is an update of and whose memory it can be
/// written in, or -1. Loops and branches have such results where their bodies do.
std::vector<int> updated_operands(const Program& p, const Equation& eqn);

/// What plan_updates decided; all by equation of the level.
struct Updates {
  /// Nothing is written over anything.
  explicit Updates(std::size_t equations)
      : takes(equations), after(equations), updated(equations) {}

  std::vector<std::vector<int>> takes;  // by result: the operand whose memory it takes, or -1
  std::vector<std::vector<std::size_t>>
      after;                              // equations that read what it overwrites: they come first
  std::vector<std::vector<int>> updated;  // `updated_operands`; none where the pass is left out
  bool any(std::size_t equation) const {
    for (int j : takes[equation])
      if (j >= 0) return true;
    return false;
  }
};

/// `ties`: by output of the level, the input whose memory it is wanted in, or -1; absent where
/// there are none. `donated`: by input. Puts the level's equations in an order in which every
/// reader of what is overwritten comes before. A pass: without it (transform/pass.h) nothing is
/// written over anything.
Updates plan_updates(Level& level, const std::vector<int>& ties, const std::vector<bool>& donated);

}  // namespace tessera::inline v0::tape
