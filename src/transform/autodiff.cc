#include "transform/autodiff.h"

#include "ir/interpret.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ops/build.h"
#include "transform/dead_code.h"

namespace tessera::inline v0 {

Linearized linearize_program(const Program& p, const std::vector<bool>& wrt) {
  JvpProgram jvp = jvp_program(p, wrt);
  std::vector<bool> unknown_in(jvp.program->inputs.size(), true);
  std::vector<bool> unknown_out(jvp.program->outputs.size(), true);
  std::fill_n(unknown_in.begin(), p.inputs.size(), false);
  std::fill_n(unknown_out.begin(), p.outputs.size(), false);
  PartialEvaluation split = partial_eval(*jvp.program, unknown_in, unknown_out);
  return {split.known, split.unknown, split.residuals, std::move(jvp.nonzero_out)};
}

ProgramPtr vjp_program(const Program& p, const std::vector<bool>& wrt) {
  Linearized lin = linearize_program(p, wrt);
  Builder b(p.name);
  Values inputs;
  for (Var v : p.inputs) inputs.push_back(b.input(p.types[v]));
  MaybeValues cts;
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const Type& type = p.types[p.outputs[i]];
    if (!is_differentiable(type.dtype)) continue;
    Value ct = b.input(type);
    if (lin.nonzero_out[i]) cts.push_back(ct);
  }
  Values outputs = b.inline_program(*lin.known, inputs);

  std::vector<bool> linear(lin.linear->inputs.size(), true);
  MaybeValues linear_inputs(linear.size());
  for (std::size_t i = 0; i < lin.residuals; ++i) {
    linear[i] = false;
    linear_inputs[i] = outputs[p.outputs.size() + i];
  }
  outputs.resize(p.outputs.size());
  MaybeValues in_cts = transpose_inline(b, *lin.linear, linear_inputs, linear, cts);
  for (std::size_t i = 0, k = lin.residuals; i < wrt.size(); ++i) {
    if (!wrt[i]) continue;
    const MaybeValue& ct = in_cts[k++];
    outputs.push_back(ct ? *ct : ops::zeros(b, p.types[p.inputs[i]]));
  }
  return dead_code(*b.finish(outputs));
}

namespace {
void find_custom_tangents(const Program& p) {
  for (const Equation& eqn : p.equations) {
    if (eqn.op->backward_only)
      Message("jvp")
          .problem("a function with a custom_vjp rule has no forward-mode derivative")
          .rule("custom_vjp gives the backward pass only")
          .from(eqn.loc)
          .advice("grad or vjp instead of jvp, or a custom_jvp rule, which serves both modes")
          .raise<TraceError>();
    for_each_nested(eqn.attrs, [](const ProgramPtr& q) { find_custom_tangents(*q); });
  }
}
}  // namespace

void require_forward_mode(const Program& p) { find_custom_tangents(p); }

}  // namespace tessera::inline v0
