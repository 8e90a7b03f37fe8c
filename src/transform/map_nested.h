// Rewriting the programs inside a program's equations.
#pragma once

#include "ir/program.h"

#include <functional>

namespace tessera::inline v0 {

/// Attributes with each nested program q replaced by f(q). `changed` is set where one differs, and
/// left alone otherwise.
Attrs map_nested(const Attrs& attrs, const std::function<ProgramPtr(const ProgramPtr&)>& f,
                 bool& changed);

/// `p` with the programs nested in its equations replaced, one level deep; `p` itself where nothing
/// changes.
ProgramPtr map_nested(const ProgramPtr& p, const std::function<ProgramPtr(const ProgramPtr&)>& f);

}  // namespace tessera::inline v0
