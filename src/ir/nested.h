// The programs nested in equations.
#pragma once

#include "ir/flow.h"
#include "ir/program.h"

#include <optional>
#include <string_view>
#include <utility>

namespace tessera::inline v0 {

/// How an equation runs its nested programs; nullopt if it runs none.
std::optional<Flow> flow_of(const Equation& eqn);

/// The program that an equation with Lowering::expanded stands for, over the equation's operands.
ProgramPtr expansion(const Equation& eqn);

/// Whether the equation binds an axis of this name for its nested programs, hiding an outer one.
bool hides(const Equation& eqn, std::string_view axis);

/// Whether the equation (or program) or any program nested in it has side effects (Op::effect).
bool has_effects(const Equation& eqn);
bool has_effects(const Program& p);

/// Whether `f` holds for any program among the attributes, including those that are stored but not
/// run.
template <class F>
bool any_nested(const Attrs& attrs, F&& f) {
  for (const auto& [name, value] : attrs) {
    if (const auto* p = std::get_if<ProgramPtr>(&value); p && *p && f(*p)) return true;
    if (const auto* ps = std::get_if<Programs>(&value))
      for (const ProgramPtr& p : *ps)
        if (f(p)) return true;
  }
  return false;
}
/// Calls `f` with each program among the attributes.
template <class F>
void for_each_nested(const Attrs& attrs, F&& f) {
  any_nested(attrs, [&](const ProgramPtr& p) {
    f(p);
    return false;
  });
}

}  // namespace tessera::inline v0
