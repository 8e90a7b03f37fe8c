// Inlines what exists for the transformations only: checkpointed regions and functions with
// derivative rules.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0 {

/// The program without ops of lowering `expanded` that have a body, at every depth; the last step
/// before partitioning and code generation. Throws TraceError where the tangent of a custom_vjp
/// function is left, which only forward mode leaves.
ProgramPtr expand(const ProgramPtr& p);

}  // namespace tessera::inline v0
