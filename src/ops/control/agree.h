// Makes the nested programs and operands of control flow in a typed per-device program agree on the
// axes over which values vary.
//
// A carry that starts equal on all devices but differs after an iteration is cast (`pvary`) before
// the loop. A branch result that varies over fewer axes than the same result of other branches is
// cast inside its branch. Nothing happens if no type names an axis.
#pragma once

#include "ir/builder.h"
#include "ir/flow.h"

#include <vector>

namespace tessera::inline v0::ops {

/// Returns the program with its inputs typed as varying over `inputs` and its outputs cast to vary
/// over at least `outputs`. Casts that become redundant are dropped, and nested control flow is
/// made to agree again.
ProgramPtr retyped(const ProgramPtr& p, const std::vector<AxisSet>& inputs,
                   const std::vector<AxisSet>& outputs = {});

/// The operands are consts, carry, xs.
void agree_scan(Builder& b, ProgramPtr& body, Values& operands, std::size_t consts,
                std::size_t carry);
/// The operands are the condition's consts, the body's consts, the carry.
void agree_while(Builder& b, ProgramPtr& cond, ProgramPtr& body, Values& operands,
                 std::size_t cond_consts, std::size_t body_consts);
/// The operands are the index, then those of the branches.
void agree_cond(Builder& b, Programs& branches, Values& operands);
/// Calls the function above that `flow` needs. The operands are the equation's.
void agree_flow(Builder& b, Flow& flow, Values& operands);

}  // namespace tessera::inline v0::ops
