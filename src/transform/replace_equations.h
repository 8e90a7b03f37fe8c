// Replaces equations of a program by several others.
#pragma once

#include "ir/builder.h"

#include <functional>
#include <memory>

namespace tessera::inline v0 {

/// The program that replaces an equation: its inputs stand for the equation's operands, and its
/// outputs, of the same types, for the results. Null if the equation stays.
using PartsOf = std::function<std::shared_ptr<Program>(const Program& p, const Equation& eqn)>;

/// Returns `p` itself if nothing is replaced.
ProgramPtr replace_equations(const ProgramPtr& p, const PartsOf& parts_of);

/// A program over the operands of an equation: `write` gives the results, and nothing if the
/// equation stays.
std::shared_ptr<Program> parts_for(
    const Program& p, const Equation& eqn,
    const std::function<std::optional<Values>(Builder& b, const Values& operands)>& write);

}  // namespace tessera::inline v0
