// What is known about values that are one number everywhere.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0 {

/// For each variable the number that all its elements have, where it is a constant of one element
/// or one rearranged (`Op::rearranges`). Built in one walk; add equations as they are
/// met.
class Scalars {
 public:
  explicit Scalars(std::size_t variables) : literal_(variables) {}
  void learn(const Equation& eqn);
  /// A literal of one element, or nullptr.
  const Literal* of(Var v) const { return literal_[v]; }
  /// Whether it is this number, with this sign: a zero is +0 or -0.
  bool is(Var v, double number) const;

 private:
  std::vector<const Literal*> literal_;
};

}  // namespace tessera::inline v0
