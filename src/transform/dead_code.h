// Removal of what no output needs, inside loops, branches and checkpointed regions too.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0 {

/// As prune, and narrows control flow: results, carries and operands that nobody needs leave the
/// nested programs. Keeps the program's inputs. Never changes the value of an output.
std::shared_ptr<Program> dead_code(const Program& p);

/// For each input whether an equation or an output reads it.
std::vector<bool> used_inputs(const Program& p);

}  // namespace tessera::inline v0
