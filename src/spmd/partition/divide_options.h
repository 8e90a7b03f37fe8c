// Derives candidate divisions of an equation's work from the placements of its values.
#pragma once

#include "spmd/partition/divide.h"

#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

struct DivisionOptions {
  /// Atoms that partition a factor in some value, in order.
  struct Run {
    std::int64_t bytes;
    Atoms atoms;
  };
  std::vector<Atom> atoms;
  /// For each index in `atoms`, the factors that the atom may partition, those with the most bytes
  /// first. The last entry is -1, for none.
  std::vector<std::vector<int>> factors;
  std::vector<std::vector<Run>> runs;  // by factor, largest first
  /// For each factor, extents of dimensions made of this factor alone that some value holds in
  /// uneven parts.
  std::vector<InlineVector<std::int64_t, 4>> uneven;

  /// True unless the division would cut a dimension unevenly that no operand or result is already
  /// (or wanted) cut that way. Dimensions read by windows are exempt, since they may stay whole.
  bool asks_for(const AtomMesh& mesh, const DivisionRule& rule, const Division& division) const;
};

DivisionOptions division_options(const PlacementTable& placements, const DivisionRule& rule,
                                 std::span<const OperandState> operands,
                                 std::span<const ResultState> results);

}  // namespace tessera::inline v0::spmd
