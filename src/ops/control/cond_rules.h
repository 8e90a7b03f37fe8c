// The derivative rules of cond.
//
// They split a branch in two: what is known, and what is linear, which reads the first part's
// values. A collective in the linear part mixes the values of several members, so it is right where
// these take the same branch and not where vmap lets each take its own. Such conds are marked
// `split`.
#pragma once

#include "ir/op.h"

#include <string_view>

namespace tessera::inline v0::ops {

JvpBoth cond_jvp(const JvpBothArgs& a);
PartialEvalResult cond_partial_eval(const PartialEvalArgs& a);
MaybeValues cond_transpose(const TransposeArgs& a);

/// As ops::cond of build.h; `split` marks it.
Values cond(Value index, const Programs& branches, std::span<const Value> operands, bool split);

/// A collective in one of the programs that runs over the axis, or over any where it is empty; null
/// where there is none.
const Equation* find_collective(const Programs& programs, std::string_view axis);

}  // namespace tessera::inline v0::ops
