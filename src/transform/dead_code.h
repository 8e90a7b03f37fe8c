// Dead-code elimination, also inside loops, branches and checkpointed regions.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0 {

/// Like prune, but also narrows control flow: unused results, carries and operands are removed from
/// nested programs. Keeps the program's inputs and never changes the value of an output.
std::shared_ptr<Program> dead_code(const Program& p);

/// For each input, whether an equation or an output reads it.
std::vector<bool> used_inputs(const Program& p);

}  // namespace tessera::inline v0
