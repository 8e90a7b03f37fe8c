// What the values of an equation suggest for dividing its work.
#pragma once

#include "spmd/divide.h"

#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

struct DivisionOptions {
  /// Atoms that cut a factor in a value, in their order.
  struct Run {
    std::int64_t bytes;
    Atoms atoms;
  };
  std::vector<Atom> atoms;
  /// By place in `atoms`: the factors that it may cut, those of the most bytes first; -1, the last:
  /// none.
  std::vector<std::vector<int>> factors;
  std::vector<std::vector<Run>> runs;  // by factor, largest first
};

DivisionOptions division_options(const PlacementTable& placements, const DivisionRule& rule,
                                 std::span<const OperandState> operands,
                                 std::span<const ResultState> results);

}  // namespace tessera::inline v0::spmd
