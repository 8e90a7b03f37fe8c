#include "transform/scalars.h"

#include "ir/host_array.h"
#include "ir/op.h"

#include <cmath>

namespace tessera::inline v0 {

void Scalars::learn(const Equation& eqn) {
  if (eqn.op->literal) {
    const Literal* literal = eqn.op->literal(eqn.attrs);
    if (literal->shape.count() == 1) literal_[eqn.outputs[0]] = literal;
  } else if (eqn.op->rearranges) {
    literal_[eqn.outputs[0]] = literal_[eqn.inputs[0]];
  }
}

bool Scalars::is(Var v, double number) const {
  if (!literal_[v]) return false;
  double found = HostArray::from(*literal_[v]).number(0);
  return found == number && std::signbit(found) == std::signbit(number);
}

}  // namespace tessera::inline v0
