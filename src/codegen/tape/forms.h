// Finds operands whose forms calls may keep (OperandForm in ir/routine.h): weights that a product
// would pack in each call, or in each turn of a loop.
//
// A form may be kept if its operand is an argument of the program that is not given away, or a
// constant. The operand may reach the routine through loops and branches that do not change it,
// or row by row through a scan, which then takes the forms of the rows from an array of its own.
// The tape then has a pointer to the form beside that to the operand, which bodies get as a hidden
// argument. Whether there is a form is decided in each call.
#pragma once

#include "codegen/tape/context.h"

namespace tessera::inline v0::tape {

/// Lists the forms of the tape, and connects the steps that read them. Routines must be compiled,
/// and steps not yet ordered. This is a pass (transform/pass.h), named "forms". `p` is the tape's
/// program.
void find_forms(TapeContext& ctx, const Program& p);

}  // namespace tessera::inline v0::tape
