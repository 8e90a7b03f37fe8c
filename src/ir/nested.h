// The programs nested in equations.
#pragma once

#include "ir/flow.h"
#include "ir/program.h"

#include <optional>
#include <string_view>
#include <utility>

namespace tessera::inline v0 {

/// How an equation runs the programs nested in it; nothing where it runs none.
std::optional<Flow> flow_of(const Equation& eqn);

/// The program that an equation of lowering `expanded` stands for, on the equation's operands.
ProgramPtr expansion(const Equation& eqn);

/// Whether the programs nested in it have an axis of this name of their own, that hides another.
bool hides(const Equation& eqn, std::string_view axis);

/// Whether it does something besides its results (Op::effect), or a program nested in it does.
bool has_effects(const Equation& eqn);
bool has_effects(const Program& p);

/// Whether `f` holds of a program among the attributes, one that is kept and not run included.
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
/// Calls `f` with each of them.
template <class F>
void for_each_nested(const Attrs& attrs, F&& f) {
  any_nested(attrs, [&](const ProgramPtr& p) {
    f(p);
    return false;
  });
}

}  // namespace tessera::inline v0
