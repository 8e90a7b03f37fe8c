// Programs with side effects (Op::effect) under vmap of a branch. If the members of a map choose
// different branches, all branches run and their results are selected; the side effects of a branch
// may happen only for the members that chose it.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0::ops {

/// Adds a boolean scalar as the first input of the program; its side effects happen only if that
/// input is true.
ProgramPtr guarded(const Program& p);

/// The program without its side effects; the equation, which must have results, without its side
/// effects.
ProgramPtr without_effects(const ProgramPtr& p);
Equation without_effects(const Equation& eqn);

}  // namespace tessera::inline v0::ops
