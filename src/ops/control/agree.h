// In a typed per-device program: control flow whose programs and operands agree on the axes over
// which values vary.
//
// A carry that starts the same on all devices and comes to differ in a step is cast (`pvary`)
// before the loop, and results of branches that vary over fewer axes than their fellows are cast
// inside. Where no type names an axis nothing happens.
#pragma once

#include "ir/builder.h"
#include "ir/flow.h"

#include <vector>

namespace tessera::inline v0::ops {

/// The program with its inputs typed as varying so, and its outputs cast to at least these; casts
/// in it that have become idle are left out, and control flow in it agrees again.
ProgramPtr retyped(const ProgramPtr& p, const std::vector<AxisSet>& inputs,
                   const std::vector<AxisSet>& outputs = {});

/// Operands are consts, carry, xs.
void agree_scan(Builder& b, ProgramPtr& body, Values& operands, std::size_t consts,
                std::size_t carry);
/// Operands are the predicate's consts, the body's consts, the carry.
void agree_while(Builder& b, ProgramPtr& cond, ProgramPtr& body, Values& operands,
                 std::size_t cond_consts, std::size_t body_consts);
/// Operands are the index, then those of the branches.
void agree_cond(Builder& b, Programs& branches, Values& operands);
/// Whichever it is. Operands are the equation's.
void agree_flow(Builder& b, Flow& flow, Values& operands);

}  // namespace tessera::inline v0::ops
