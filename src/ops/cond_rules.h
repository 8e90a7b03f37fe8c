// The derivative rules of cond.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

JvpBoth cond_jvp(const JvpBothArgs& a);
PartialEvalResult cond_partial_eval(const PartialEvalArgs& a);
MaybeValues cond_transpose(const TransposeArgs& a);

}  // namespace tessera::inline v0::ops
