// Programs written in one way, so that a region can be compared with a known function.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0::stablehlo {

/// The part of a program that its outputs need. Equal equations are one, and each equation stands
/// where the outputs first need it, so that two writings of a function have the same structure.
ProgramPtr canonical(const Program& p);

}  // namespace tessera::inline v0::stablehlo
