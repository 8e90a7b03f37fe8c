// Which division of an equation's work is cheapest, with what its operands have to be brought to
// and what its results come out as.
#pragma once

#include "spmd/partition/division.h"
#include "spmd/reshard/routes.h"

#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace tessera::inline v0::spmd {

/// An operand as an equation finds it.
struct OperandState {
  PlacementTable::Id wished = PlacementTable::none;  // where propagation has it
  InlineVector<PlacementTable::Id, 6> copies;        // where it is
  bool anywhere = false;                             // it is made where it is read
  bool zero = false;                                 // every element is, so partial results are too
  bool read_once = false;                            // by nobody but this equation
};

/// A result as its readers find it.
struct ResultState {
  PlacementTable::Id wanted = PlacementTable::none;  // where propagation has it; none: no reader
  /// It is added to sums that are partial over these atoms, so that it may be one too; or to one
  /// that is partial or not as it likes.
  AtomSet sum_over;
  bool sum_over_any = false;
};

struct DivisionChoice {
  Division division;
  std::vector<PlacementTable::Id> operands, results;
};

/// Answers are kept: equal questions have equal ones, whatever was asked before.
class Divider {
 public:
  Divider(PlacementTable& placements, Routes& routes) : placements_(placements), routes_(routes) {}

  /// Least is the time to bring operands and results from and to where they lie, by the routes that
  /// are written, and that of the work itself, by a rough rate. The atoms that cut any of these
  /// values, each along the factors that it cuts in one of them, are tried in all ways, or where
  /// these are very many one atom after the other.
  ///
  /// Operands that are partial sums stay so where the equation is linear in them, so that the
  /// result is one, if that costs no more.
  const DivisionChoice& choose(const DivisionRule& rule, std::span<const OperandState> operands,
                               std::span<const ResultState> results);

 private:
  PlacementTable& placements_;
  Routes& routes_;
  std::deque<DivisionChoice> choices_;
  std::unordered_multimap<std::size_t, std::pair<std::vector<std::uint32_t>, const DivisionChoice*>>
      known_;
};

}  // namespace tessera::inline v0::spmd
