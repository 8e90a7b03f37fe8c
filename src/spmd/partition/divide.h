// Chooses the cheapest division of an equation's work, together with the placements to which its
// operands must be resharded and those in which its results come out.
#pragma once

#include "base/numbered.h"
#include "spmd/partition/division.h"
#include "spmd/reshard/routes.h"

#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

/// The state of an operand when the equation is reached.
struct OperandState {
  PlacementTable::Id wished = PlacementTable::none;  // as propagation placed it
  InlineVector<PlacementTable::Id, 6> copies;        // its present placements
  bool anywhere = false;                             // each reader materialises it
  bool zero = false;                                 // all elements are 0; so are partial results
  bool read_once = false;                            // no other equation reads it
};

/// The state of a result as its readers see it.
struct ResultState {
  PlacementTable::Id wanted = PlacementTable::none;  // as propagation placed it; none: unread
  /// Axes over which this result may stay a partial sum, because it is only added to other partial
  /// sums over the same axes. `sum_over_any`: its reader accepts a partial sum over any axes.
  AtomSet sum_over;
  bool sum_over_any = false;
};

struct DivisionChoice {
  Division division;
  std::vector<PlacementTable::Id> operands, results;
};

/// Results are cached; they depend only on the arguments.
class Divider {
 public:
  Divider(PlacementTable& placements, Routes& routes) : placements_(placements), routes_(routes) {}

  /// Minimises the time to reshard operands and results, by the routes that will be emitted, plus a
  /// rough estimate of the time for the work itself. The candidates are the atoms that partition
  /// any of these values, each along the factors that it partitions in one of them. All
  /// combinations are tried or, if there are very many, one atom after the other.
  ///
  /// Operands that are partial sums stay partial if the equation is linear in them, so that the
  /// result is partial too, and if that costs no more.
  const DivisionChoice& choose(const DivisionRule& rule, std::span<const OperandState> operands,
                               std::span<const ResultState> results);

 private:
  struct Known {
    std::vector<std::uint32_t> key;
    DivisionChoice choice;
  };

  PlacementTable& placements_;
  Routes& routes_;
  Numbered<Known> known_;
};

}  // namespace tessera::inline v0::spmd
