// In typed per-device programs: the mesh axes over which the results of an equation vary.
//
// The builder types results so, and the verifier holds every pass to it.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0 {

/// Whether the op takes operands that vary over the same axes: all do that say nothing about axes
/// themselves and run no nested programs.
bool needs_equal_varying(const Op& op, const Attrs& attrs);
/// Sets the varying axes of `results`, which are as the op's infer rule gave them. Where no operand
/// varies and the op has no rule there is nothing to set.
void type_varying(const Op& op, const Attrs& attrs, std::span<const Type> inputs,
                  std::span<Type> results);

}  // namespace tessera::inline v0
