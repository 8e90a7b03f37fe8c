// Who reads what in a program, with values that may share memory taken together: what updates in
// place are found by, and ordered.
#pragma once

#include "codegen/tape/context.h"
#include "ir/nested.h"

#include <optional>
#include <vector>

namespace tessera::inline v0::tape {

/// Whether carry `k` of what repeats is handed on as it is.
bool hands_on(const Flow& loop, std::size_t k);
/// Communication that may come to nothing: its result is its operand's memory, seen otherwise.
bool may_be_view(const Equation& eqn);

class AliasGraph {
 public:
  explicit AliasGraph(const Program& p);

  int producer(Var v) const { return producer_[v]; }
  /// The variable whose value and memory `v` is, all of it.
  Var origin(Var v) const;
  /// `updated_operands` of an equation.
  const std::vector<int>& updated(std::size_t e);
  /// Whether no other operand of `e` may share memory with operand `j`.
  bool sole(std::size_t e, int j);
  /// Asks that all readers of operand `j` come before `e`; refuses where one needs the result of
  /// `e`. Only where `keep` is the order remembered.
  bool order(std::size_t e, int j, bool keep);

  struct Step {
    std::size_t equation, result;
    int operand;
  };
  struct Chain {
    int input = -1;           // position among the inputs
    std::vector<Step> steps;  // from the output back to the input
  };
  /// The updates that lead from an input to `v`.
  Chain chain(Var v);

  /// By equation: those that have to come after it.
  const std::vector<std::vector<std::size_t>>& next() const { return next_; }
  /// Whether the equations stand as `next` asks.
  bool in_order() const { return forward_; }
  /// The equations as `next` asks, otherwise as they are.
  std::vector<std::size_t> sorted() const;

 private:
  void join_names(std::size_t e);
  Var find(Var v);
  void join(Var a, Var b) { same_[find(a)] = find(b); }
  std::vector<bool> reached_from(std::size_t e) const;

  const Program& p_;
  std::vector<int> producer_;                      // of a variable; -1 for an input
  std::vector<std::vector<std::size_t>> users_;    // of a variable
  std::vector<Var> same_;                          // union of variables that may share memory
  std::vector<std::vector<std::size_t>> readers_;  // of the union of a variable
  std::vector<std::vector<std::size_t>> next_;     // what has to come after an equation
  std::vector<std::vector<int>> updated_;          // by equation; empty: not asked yet
  std::vector<std::optional<Flow>> loops_;         // by equation, of what repeats
  bool forward_ = true;                            // `next_` only points ahead
};

}  // namespace tessera::inline v0::tape
