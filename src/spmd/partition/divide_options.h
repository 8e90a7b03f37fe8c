// What the values of an equation suggest for dividing its work.
#pragma once

#include "spmd/partition/divide.h"

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
  /// By factor: extents of dimensions of that factor alone that some value has in parts, not all of
  /// them full.
  std::vector<InlineVector<std::int64_t, 4>> uneven;

  /// Dimensions are cut unevenly as some value lies, or is to lie, and no others but such as windows
  /// read, which may stay whole.
  bool asks_for(const AtomMesh& mesh, const DivisionRule& rule, const Division& division) const;
};

DivisionOptions division_options(const PlacementTable& placements, const DivisionRule& rule,
                                 std::span<const OperandState> operands,
                                 std::span<const ResultState> results);

}  // namespace tessera::inline v0::spmd
