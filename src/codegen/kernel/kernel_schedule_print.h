// A kernel's planned loops as text, for people and tests (TESSERA_DUMP_LOOPS=1).
#pragma once

#include "codegen/kernel/kernel_schedule.h"

#include <string>

namespace tessera::inline v0::codegen {

/// Stage by stage its loops, outermost first: which are cut into tasks, the one that is vectorised
/// and by how many lanes, the loops of reductions; inside each what is computed, loaded and stored
/// in a turn of it. A value stands in the outermost loop that knows its index, as it will be
/// emitted. Variables are %0, %1, ... as in the program.
std::string to_string(const Program& p, const KernelSchedule& plan);

}  // namespace tessera::inline v0::codegen
