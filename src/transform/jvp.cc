// Forward-mode differentiation: each equation is followed by the equations of its tangents.
#include "ir/interpret.h"
#include "ir/op.h"
#include "ops/build.h"
#include "transform/at_equation.h"

namespace tessera::inline v0 {

namespace {

[[noreturn]] void no_derivative(const Equation& eqn) {
  const auto reason = eqn.op->waived.find("jvp");
  const std::string why =
      reason == eqn.op->waived.end() ? "" : ", but here " + std::string(reason->second);
  Message("grad")
      .problem("'" + eqn.op->name + "' has no derivative, and a differentiated value flows into it")
      .rule("each operation between the differentiated inputs and the result needs a derivative" +
            why)
      .from(eqn.loc)
      .advice("stop_gradient on its operand, or a rule of your own with custom_jvp or custom_vjp")
      .raise<TraceError>();
}

void check_tangent(const Op& op, const Type& primal, const Type& tangent) {
  if (primal.dtype != tangent.dtype || !(primal.shape == tangent.shape))
    throw InternalError("the derivative of '" + op.name + "' gives a tangent " +
                        to_string(tangent) + " for a result " + to_string(primal));
}

}  // namespace

JvpBoth jvp_inline(Builder& b, const Program& p, std::span<const Value> inputs,
                   std::span<const MaybeValue> tangents) {
  if (inputs.size() != p.inputs.size() || tangents.size() != p.inputs.size())
    throw InternalError("jvp of '" + p.name + "': the counts of inputs and tangents do not fit");
  Values primal(p.types.size());
  MaybeValues tangent(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    primal[p.inputs[i]] = inputs[i];
    if (is_differentiable(inputs[i].dtype())) tangent[p.inputs[i]] = tangents[i];
  }

  Values in;
  MaybeValues in_tangents;
  for (const Equation& eqn : p.equations) {
    in.clear();
    in_tangents.clear();
    bool differentiated = false;
    for (Var v : eqn.inputs) {
      in.push_back(primal[v]);
      in_tangents.push_back(tangent[v]);
      differentiated = differentiated || tangent[v].has_value();
    }
    AtEquation at(b, eqn);
    JvpBoth both;
    if (differentiated && eqn.op->jvp_both) {
      both = eqn.op->jvp_both({b, *eqn.op, eqn.attrs, in, in_tangents});
    } else {
      both.outputs = b.emit(*eqn.op, in, eqn.attrs);
      if (differentiated && eqn.op->jvp) {
        both.tangents = eqn.op->jvp({b, *eqn.op, eqn.attrs, in, both.outputs, in_tangents});
      } else if (differentiated) {
        for (const Value& v : both.outputs)
          if (is_differentiable(v.dtype())) no_derivative(eqn);
      }
    }
    both.tangents.resize(both.outputs.size());
    for (std::size_t i = 0; i < both.outputs.size(); ++i) {
      Var v = eqn.outputs[i];
      primal[v] = both.outputs[i];
      if (!both.tangents[i] || !is_differentiable(p.types[v].dtype)) continue;
      check_tangent(*eqn.op, p.types[v], both.tangents[i]->type());
      // Wherever the result is summed over an axis, so is its tangent, which must be typed as
      // varying there too.
      tangent[v] = b.vary_over(*both.tangents[i], primal[v].type().varying);
    }
  }

  JvpBoth result;
  for (Var v : p.outputs) {
    result.outputs.push_back(primal[v]);
    result.tangents.push_back(tangent[v]);
  }
  return result;
}

JvpProgram jvp_program(const Program& p, const std::vector<bool>& nonzero_in,
                       const std::vector<bool>& instantiate) {
  Builder b(p.name);
  Values inputs;
  for (Var v : p.inputs) inputs.push_back(b.input(p.types[v]));
  MaybeValues tangents(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!nonzero_in[i]) continue;
    Type type = p.types[p.inputs[i]];
    if (!is_differentiable(type.dtype))
      throw InternalError("a tangent is asked for an input " + to_string(type));
    tangents[i] = b.input(std::move(type));
  }
  JvpBoth both = jvp_inline(b, p, inputs, tangents);
  JvpProgram result;
  Values outputs = both.outputs;
  for (std::size_t i = 0; i < both.outputs.size(); ++i) {
    const Type& type = p.types[p.outputs[i]];
    if (!both.tangents[i] && !instantiate.empty() && instantiate[i] &&
        is_differentiable(type.dtype))
      both.tangents[i] = ops::zeros(b, type);
    result.nonzero_out.push_back(both.tangents[i].has_value());
    if (both.tangents[i]) outputs.push_back(*both.tangents[i]);
  }
  result.program = b.finish_pruned(outputs);
  return result;
}

}  // namespace tessera::inline v0
