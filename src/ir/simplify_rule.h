// An op's rules for rewriting its own equations into shorter or faster ones.
#pragma once

#include "ir/builder.h"

#include <functional>
#include <optional>

namespace tessera::inline v0 {

/// Facts about the operands of an equation.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual const Type& type(Var v) const = 0;
  /// The equation that defines `v` if it has the same op; else nullptr.
  virtual const Equation* same_op(Var v) const = 0;
  /// Whether all elements of `v` are known to equal `number`, including the sign of a zero.
  virtual bool is(Var v, double number) const = 0;
};
struct SimplifyArgs {
  const Equation& eqn;
  const Surroundings& around;
};
struct Simplified {
  /// The variable that the only result equals bit for bit; the pass checks that the types match.
  std::optional<Var> same;
  /// Otherwise, the operand and attributes with which the same op gives the same result.
  std::optional<Var> operand;
  Attrs attrs;
};
using SimplifyRule = std::function<Simplified(const SimplifyArgs&)>;

/// Returns nullopt if the equation should stay as it is.
struct DecomposeArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;
  std::span<const Value> inputs;
};
using DecomposeRule = std::function<std::optional<Values>(const DecomposeArgs&)>;

}  // namespace tessera::inline v0
