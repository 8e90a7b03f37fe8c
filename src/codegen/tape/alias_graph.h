// The producers and readers of every variable in a program, with variables that may share memory
// merged. It is used to find updates in place and to order equations around them.
#pragma once

#include "codegen/tape/context.h"
#include "ir/nested.h"

#include <optional>
#include <vector>

namespace tessera::inline v0::tape {

/// Whether the loop passes carry `k` through unchanged.
bool hands_on(const Flow& loop, std::size_t k);
/// Whether the equation may cost nothing because its result is a view of its operand's memory.
bool may_be_view(const Equation& eqn);

class AliasGraph {
 public:
  explicit AliasGraph(const Program& p);

  int producer(Var v) const { return producer_[v]; }
  /// The variable whose value and memory `v` shares completely.
  Var origin(Var v) const;
  /// The `updated_operands` of equation `e`.
  const std::vector<int>& updated(std::size_t e);
  /// Whether no other operand of `e` may share memory with operand `j`.
  bool sole(std::size_t e, int j);
  /// Requires all readers of operand `j` to come before `e`; returns false if one of them depends
  /// on the result of `e`. The constraint is recorded only if `keep` is set.
  bool order(std::size_t e, int j, bool keep);

  struct Step {
    std::size_t equation, result;
    int operand;
  };
  struct Chain {
    int input = -1;           // position among the inputs
    std::vector<Step> steps;  // from the output back to the input
  };
  /// The chain of updates that leads from an input to `v`; empty if there is none.
  Chain chain(Var v);

  /// For each equation, the equations that must come after it.
  const std::vector<std::vector<std::size_t>>& next() const { return next_; }
  /// Whether the equations' present order satisfies `next`.
  bool in_order() const { return forward_; }
  /// The equations in an order that satisfies `next` and otherwise follows the program.
  std::vector<std::size_t> sorted() const;

 private:
  void join_names(std::size_t e);
  Var find(Var v);
  void join(Var a, Var b) { same_[find(a)] = find(b); }
  std::vector<bool> reached_from(std::size_t e) const;

  const Program& p_;
  std::vector<int> producer_;                    // by variable; -1 for an input
  std::vector<std::vector<std::size_t>> users_;  // by variable
  std::vector<Var> same_;  // union-find parents: variables that may share memory are in one set
  std::vector<std::vector<std::size_t>> readers_;  // by the representative of a set
  std::vector<std::vector<std::size_t>> next_;     // by equation: equations that must come after it
  std::vector<std::vector<int>> updated_;          // by equation; empty: not computed yet
  std::vector<std::optional<Flow>> loops_;         // by equation, for loops only
  bool forward_ = true;                            // all edges of `next_` point forward
};

}  // namespace tessera::inline v0::tape
