// A canonical form of programs, in which a region can be compared with a known function.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0::stablehlo {

/// The part of a program that its outputs need, in canonical form: equal equations are merged, and
/// each equation is placed where the outputs first need it, so that two ways of writing a function
/// give the same structure.
ProgramPtr canonical(const Program& p);

}  // namespace tessera::inline v0::stablehlo
