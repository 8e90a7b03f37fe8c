// Replaces a sum over the iterations of a loop by one equation over all iterations.
//
// An iteration of a recurrent layer adds to the cotangent of its weight a product of its input with
// a cotangent. That may be an outer product of two vectors, which is as large as the weight and is
// added to a sum of that size in every iteration. The product over all iterations reads each
// operand once, and is a library call where the products of single iterations are loops.
#include "ops/control/scan_rules.h"

#include <algorithm>

namespace tessera::inline v0::ops {

std::optional<SumOfTurns> sum_of_turns(const Program& body, Var v, const std::vector<bool>& fixed,
                                       const std::vector<bool>& stacked, std::int64_t turns,
                                       std::int64_t bytes) {
  SumOfTurns sum;
  for (auto eqn = body.equations.rbegin(); eqn != body.equations.rend(); ++eqn) {
    if (eqn->outputs.size() != 1 || eqn->outputs[0] != v) continue;
    if (eqn->op->rearranges && eqn->inputs.size() == 1) {
      sum.then.insert(sum.then.begin(), *eqn);
      v = eqn->inputs[0];
      continue;
    }
    if (!eqn->op->summed) return std::nullopt;
    sum.product = *eqn;
    std::int64_t kept = 0;
    for (Var operand : eqn->inputs) {
      if (fixed[operand]) return std::nullopt;
      if (!stacked[operand]) kept += body.types[operand].bytes();
    }
    if (4 * kept > body.types[v].bytes() || kept * turns > bytes) return std::nullopt;
    return sum;
  }
  return std::nullopt;
}

Value emit(Builder& b, const SumOfTurns& sum, std::span<const Value> stacks) {
  const AtLocation at(b, sum.product.loc);
  Value v = sum.product.op->summed({b, *sum.product.op, sum.product.attrs, stacks});
  for (const Equation& eqn : sum.then) v = b.copy(eqn, std::span(&v, 1))[0];
  return v;
}

}  // namespace tessera::inline v0::ops
