// Replaces operations by several faster ones, by the ops' decompose rules.
#include "ir/op.h"
#include "transform/replace_equations.h"
#include "transform/simplify.h"

namespace tessera::inline v0 {

ProgramPtr decompose(const ProgramPtr& p) {
  return replace_equations(p, [](const Program& q, const Equation& eqn) {
    return eqn.op->decompose
               ? parts_for(q, eqn,
                           [&](Builder& b, const Values& operands) {
                             return eqn.op->decompose({b, *eqn.op, eqn.attrs, operands});
                           })
               : nullptr;
  });
}

}  // namespace tessera::inline v0
