// Programs with side effects (Op::effect) under vmap of a branch. If the members of a map choose
// different branches, all branches run and their results are selected; the side effects of a branch
// may happen only for the members that chose it.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0::ops {

/// Adds a boolean scalar as the first input of the program; its side effects happen only if that
/// input is true.
ProgramPtr guarded(const Program& p);

/// Whether results depend on values that side effects return (host calls do), so that the program,
/// or the equation, cannot run again without them.
bool needs_effects(const Program& p);
bool needs_effects(const Equation& eqn);

/// The program without its side effects; the equation, which must have results, without its side
/// effects. Throws TraceError if it needs them.
ProgramPtr without_effects(const ProgramPtr& p);
Equation without_effects(const Equation& eqn);

}  // namespace tessera::inline v0::ops
