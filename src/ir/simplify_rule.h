// What an op knows of its own equations that could be shorter.
#pragma once

#include "ir/builder.h"

#include <functional>
#include <optional>

namespace tessera::inline v0 {

/// What is known around an equation.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual const Type& type(Var v) const = 0;
  /// The equation of the same op that makes `v`; nullptr where another does, or none.
  virtual const Equation* same_op(Var v) const = 0;
  /// Whether all elements of `v` are known to be `number`, with its sign where it is zero.
  virtual bool is(Var v, double number) const = 0;
};
struct SimplifyArgs {
  const Equation& eqn;
  const Surroundings& around;
};
struct Simplified {
  /// The variable that the only result equals, bit for bit; its type is compared by the pass.
  std::optional<Var> same;
  /// Or the same op with these instead.
  std::optional<Var> operand;
  Attrs attrs;
};
using SimplifyRule = std::function<Simplified(const SimplifyArgs&)>;

/// Nothing: the equation stays as it is.
struct DecomposeArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;
  std::span<const Value> inputs;
};
using DecomposeRule = std::function<std::optional<Values>(const DecomposeArgs&)>;

}  // namespace tessera::inline v0
