// In-place updates: decides which results are written into the memory of an operand.
//
// dynamic_update_slice and the scatters change a few elements of an array. If nothing reads the
// operand afterwards, they write those elements into its memory and leave the others alone. A loop
// whose body only updates a carry keeps it in the same memory for all iterations; so does a branch.
#pragma once

#include "codegen/tape/context.h"

#include <vector>

namespace tessera::inline v0::tape {

/// For each result of an equation of `p`: the operand that it updates and whose memory it can take,
/// or -1. Loops and branches have such results if their bodies do.
std::vector<int> updated_operands(const Program& p, const Equation& eqn);

/// The decisions of plan_updates, by equation of the level.
struct Updates {
  /// No result overwrites anything.
  explicit Updates(std::size_t equations)
      : takes(equations), after(equations), updated(equations) {}

  std::vector<std::vector<int>> takes;  // by result: the operand whose memory it takes, or -1
  std::vector<std::vector<std::size_t>>
      after;  // equations that read what it overwrites, and so must come first
  std::vector<std::vector<int>> updated;  // `updated_operands`; empty if the pass is off
  bool any(std::size_t equation) const {
    for (int j : takes[equation])
      if (j >= 0) return true;
    return false;
  }
};

/// `ties`: for each output of the level, the input whose memory should hold it, or -1; empty if
/// there are none. `donated`: by input. Reorders the level's equations so that every reader of an
/// overwritten value comes before the overwriting equation. This is a pass: with it off
/// (transform/pass.h), nothing is overwritten.
Updates plan_updates(Level& level, const std::vector<int>& ties, const std::vector<bool>& donated);

}  // namespace tessera::inline v0::tape
