// Sharding rules that many ops share.
#pragma once

#include "ir/factor_rule.h"

namespace tessera::inline v0::ops {

/// All operands and results have one shape and are related dimension by dimension.
inline FactorRule pointwise_rule(const Shape& shape, int inputs, int outputs) {
  FactorRule rule;
  const std::vector<int> dims = rule.factors(shape);
  for (int i = 0; i < inputs; ++i) rule.input(dims);
  for (int i = 0; i < outputs; ++i) rule.output(dims);
  return rule;
}

}  // namespace tessera::inline v0::ops
