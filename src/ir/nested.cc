#include "ir/nested.h"

#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0 {

std::optional<Flow> flow_of(const Equation& eqn) {
  if (!eqn.op->flow) return std::nullopt;
  return eqn.op->flow(eqn.attrs);
}

ProgramPtr expansion(const Equation& eqn) {
  if (const std::optional<Flow> flow = flow_of(eqn); flow && flow->kind == Flow::Kind::call)
    return flow->body();
  throw InternalError("op '" + eqn.op->name + "' has no program to inline");
}

bool hides(const Equation& eqn, std::string_view axis) {
  const std::optional<Flow> flow = flow_of(eqn);
  return flow && std::find(flow->axes.begin(), flow->axes.end(), axis) != flow->axes.end();
}

bool has_effects(const Equation& eqn) {
  return eqn.op->effect ||
         any_nested(eqn.attrs, [](const ProgramPtr& p) { return has_effects(*p); });
}
bool has_effects(const Program& p) {
  return std::any_of(p.equations.begin(), p.equations.end(),
                     [](const Equation& eqn) { return has_effects(eqn); });
}

}  // namespace tessera::inline v0
