// Prints a kernel's loops as text, for debugging and tests (TESSERA_DUMP_LOOPS=1).
#pragma once

#include "codegen/kernel/kernel_schedule.h"

#include <string>

namespace tessera::inline v0::codegen {

/// Prints the loops of each stage, outermost first: which are divided into tasks, which is
/// vectorised and by how many lanes, the loops of reductions, and the values that each iteration
/// computes, loads and stores. A value is printed in the outermost loop in which its index is
/// known, where it is emitted. Variables are %0, %1, ... as in the program.
std::string to_string(const Program& p, const KernelSchedule& plan);

}  // namespace tessera::inline v0::codegen
