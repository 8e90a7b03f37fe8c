#include "ir/nested.h"

#include "ir/op.h"

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

}  // namespace tessera::inline v0
