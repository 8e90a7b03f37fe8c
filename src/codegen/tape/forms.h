// Finds operands whose packed forms may be kept between calls (OperandForm in ir/routine.h):
// weights that a product would otherwise pack in each call, or in each iteration of a loop.
//
// A form may be kept if its operand is a constant, or an argument of the program that is not
// donated. The operand may reach the routine through loops and branches that do not change it, or
// row by row through a scan, which then reads the forms of the rows from a separate array. In
// addition to the pointer to the operand, the tape has one to the form, which bodies get as a
// hidden argument. Each call decides whether the form exists (runtime/cpu/call_forms.h).
#pragma once

#include "codegen/tape/context.h"

namespace tessera::inline v0::tape {

/// Lists the forms of the tape, and connects the steps that read them. It runs after routines are
/// compiled and before steps are ordered. This is a pass (transform/pass.h), named "forms". `p` is
/// the tape's program.
void find_forms(TapeContext& ctx, const Program& p);

}  // namespace tessera::inline v0::tape
