#include "codegen/kernel/composer.h"

namespace tessera::inline v0::codegen {

Composer::Composer(const Program& program) : program_(program), producers_(program.types.size()) {
  for (const Equation& e : program.equations)
    for (std::size_t i = 0; i < e.outputs.size(); ++i)
      producers_[e.outputs[i]] = {&e, static_cast<int>(i)};
}

Lane Composer::apply(Var v, std::span<const Index> at) {
  const auto [eqn, result] = producers_[v];
  if (eqn->op->lowering == Lowering::view && !eqn->op->emit) {
    const Shape &out = program_.type(v).shape, &in = program_.type(eqn->inputs[0]).shape;
    return value(eqn->inputs[0], unflatten(flatten(at, out), in));
  }
  const Equation* outer_eqn = eqn_;
  int outer_result = result_;
  eqn_ = eqn;
  result_ = result;
  Lane x = eqn->op->emit(*this, *eqn, result, at);
  eqn_ = outer_eqn;
  result_ = outer_result;
  return x;
}

}  // namespace tessera::inline v0::codegen
