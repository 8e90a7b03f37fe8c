// Rewrites the programs nested in a program's equations.
#pragma once

#include "ir/program.h"

#include <functional>

namespace tessera::inline v0 {

/// Returns the attributes with each nested program q replaced by f(q). Sets `changed` if any
/// differs, and otherwise leaves it alone.
Attrs map_nested(const Attrs& attrs, const std::function<ProgramPtr(const ProgramPtr&)>& f,
                 bool& changed);

/// Returns `p` with the programs nested in its equations replaced, one level deep; `p` itself if
/// nothing changes.
ProgramPtr map_nested(const ProgramPtr& p, const std::function<ProgramPtr(const ProgramPtr&)>& f);

}  // namespace tessera::inline v0
