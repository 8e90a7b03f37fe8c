// Tracks values whose elements are all one known number.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0 {

/// For each variable, the number that all its elements equal if the variable is a one-element
/// constant or a rearrangement of one (`Op::rearranges`). Filled in one walk: call `learn` for each
/// equation as it is met.
class Scalars {
 public:
  explicit Scalars(std::size_t variables) : literal_(variables) {}
  void learn(const Equation& eqn);
  /// The number as a literal of one element, or nullptr.
  const Literal* of(Var v) const { return literal_[v]; }
  /// Whether `v` is known to equal `number`, distinguishing +0 from -0.
  bool is(Var v, double number) const;

 private:
  std::vector<const Literal*> literal_;
};

}  // namespace tessera::inline v0
