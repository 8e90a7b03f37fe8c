// Programs with effects (Op::effect) whose results are chosen among others: members of a map that
// each take another branch run all of them, and what a branch does besides may happen for its own
// members only.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0::ops {

/// The program with one more input before the others, a boolean scalar: its effects take place only
/// where that holds.
ProgramPtr guarded(const Program& p);

/// What the program computes; what the equation, which has results, computes.
ProgramPtr without_effects(const ProgramPtr& p);
Equation without_effects(const Equation& eqn);

}  // namespace tessera::inline v0::ops
