// The mesh axes over which the results of an equation vary, in typed per-device programs. The
// builder types results by these rules, and the verifier checks every pass against them.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0 {

/// Whether all operands of the op must vary over the same axes. This holds for every op that has no
/// rule of its own about axes and runs no nested programs.
bool needs_equal_varying(const Op& op, const Attrs& attrs);
/// Sets the varying axes of `results`, which come from the op's infer rule. For an op without a
/// rule of its own, does nothing if no operand varies, or if it runs nested programs (its infer
/// rule then sets them).
void type_varying(const Op& op, const Attrs& attrs, std::span<const Type> inputs,
                  std::span<Type> results);

}  // namespace tessera::inline v0
