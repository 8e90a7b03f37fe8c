// Transposition: a backward walk over the equations that are linear in the marked inputs, after a
// forward pass over the others.
#include "ir/interpret.h"
#include "ir/op.h"
#include "ops/build.h"
#include "ops/elementwise/chosen.h"
#include "ops/indexing/cotangents.h"
#include "transform/at_equation.h"

namespace tessera::inline v0 {

namespace {

// Marks the variables that depend on a linear input.
std::vector<bool> linear_variables(const Program& p, const std::vector<bool>& linear) {
  std::vector<bool> is_linear(p.types.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i) is_linear[p.inputs[i]] = linear[i];
  for (const Equation& eqn : p.equations) {
    bool any = false;
    for (Var v : eqn.inputs) any = any || is_linear[v];
    if (any)
      for (Var v : eqn.outputs) is_linear[v] = true;
  }
  return is_linear;
}

// The cotangent of each variable, summed in order of arrival. Each is typed as varying over the
// axes of its variable: transposes of collectives give every device its own contribution, which a
// cotangent typed as equal on all devices would contradict.
class Cotangents {
 public:
  explicit Cotangents(const Program& p) : p_(p), values_(p.types.size()) {}

  void add(Var v, const MaybeValue& ct, const char* from) {
    if (!ct) return;
    const Type &want = p_.types[v], &got = ct->type();
    bool varies_more = false;
    for (const std::string& axis : got.varying)
      varies_more = varies_more || !want.varying.contains(axis);
    if (want.dtype != got.dtype || !(want.shape == got.shape) || varies_more)
      throw InternalError(std::string("the transpose of '") + from + "' gives a cotangent " +
                          to_string(got) + " for a value " + to_string(want));
    const Value own = ct->builder->vary_over(*ct, want.varying);
    values_[v] = values_[v] ? ops::add_cotangents(*values_[v], own) : own;
  }
  const MaybeValue& operator[](Var v) const { return values_[v]; }

 private:
  const Program& p_;
  MaybeValues values_;
};

// The library's own derivative rules are linear in the tangents, so this rule is a user's.
[[noreturn]] void not_linear(const Equation& eqn) {
  Message("custom_jvp")
      .problem("reverse mode meets a rule whose tangent goes through '" + eqn.op->name +
               "', which is not linear in it")
      .rule(
          "reverse mode transposes the rule, so its tangent is a sum of tangents multiplied by "
          "values that are none")
      .from(eqn.loc)
      .advice(
          "compute the derivative from the arguments and multiply it by the tangent; forward mode "
          "(jvp, jacfwd) takes any rule")
      .raise<TraceError>();
}

}  // namespace

MaybeValues transpose_inline(Builder& b, const Program& p, std::span<const MaybeValue> inputs,
                             const std::vector<bool>& linear,
                             std::span<const MaybeValue> cotangents) {
  std::vector<bool> is_linear = linear_variables(p, linear);
  Values value(p.types.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    if (linear[i]) continue;
    if (!inputs[i])
      throw InternalError("transpose of '" + p.name + "': a non-linear input has no value");
    value[p.inputs[i]] = *inputs[i];
  }

  Values in;
  for (const Equation& eqn : p.equations) {
    if (!eqn.outputs.empty() && is_linear[eqn.outputs[0]]) continue;
    in.clear();
    for (Var v : eqn.inputs) in.push_back(value[v]);
    Values out = b.copy(eqn, in);
    for (std::size_t i = 0; i < out.size(); ++i) value[eqn.outputs[i]] = out[i];
  }

  Cotangents ct(p);
  for (std::size_t i = 0; i < p.outputs.size(); ++i)
    if (is_linear[p.outputs[i]]) ct.add(p.outputs[i], cotangents[i], "the result");

  MaybeValues arguments, out_cts;
  std::vector<Type> types;
  for (std::size_t k = p.equations.size(); k-- > 0;) {
    const Equation& eqn = p.equations[k];
    if (eqn.outputs.empty() || !is_linear[eqn.outputs[0]]) continue;
    out_cts.clear();
    bool any = false;
    for (Var v : eqn.outputs) {
      out_cts.push_back(ct[v]);
      any = any || ct[v].has_value();
    }
    if (!any) continue;
    if (!eqn.op->transpose) not_linear(eqn);
    arguments.clear();
    types.clear();
    // std::vector<bool> has no contiguous storage to span.
    std::unique_ptr<bool[]> mask(new bool[eqn.inputs.size()]);
    for (std::size_t i = 0; i < eqn.inputs.size(); ++i) {
      Var v = eqn.inputs[i];
      mask[i] = is_linear[v];
      arguments.push_back(is_linear[v] ? MaybeValue() : MaybeValue(value[v]));
      types.push_back(p.types[v]);
    }
    const std::span<const bool> in(mask.get(), eqn.inputs.size());
    if (eqn.op->linear && !eqn.op->linear(in)) not_linear(eqn);
    AtEquation at(b, eqn);
    std::optional<ops::Unselected> unselected;
    // The selects are applied after the transposed equation. They cannot be moved past a sum over
    // devices, because the devices' conditions differ.
    if (eqn.op->elementwise && !eqn.op->vary && out_cts.size() == 1) {
      unselected.emplace(*out_cts[0]);
      out_cts[0] = unselected->raw();
    }
    MaybeValues in_cts = eqn.op->transpose({b, *eqn.op, eqn.attrs, arguments, types, in, out_cts});
    if (unselected)
      for (MaybeValue& v : in_cts)
        if (v) v = unselected->selected(*v);
    for (std::size_t i = 0; i < eqn.inputs.size() && i < in_cts.size(); ++i)
      if (mask[i]) ct.add(eqn.inputs[i], in_cts[i], eqn.op->name.c_str());
  }

  MaybeValues result(p.inputs.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    if (linear[i]) result[i] = ct[p.inputs[i]];
  return result;
}

ProgramPtr transpose_program(const Program& p, const std::vector<bool>& linear,
                             const std::vector<bool>& nonzero_ct) {
  Builder b(p.name);
  MaybeValues inputs(p.inputs.size()), cts(p.outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!linear[i]) inputs[i] = b.input(p.types[p.inputs[i]]);
  for (std::size_t i = 0; i < cts.size(); ++i)
    if (nonzero_ct[i]) cts[i] = b.input(p.types[p.outputs[i]]);
  MaybeValues in_cts = transpose_inline(b, p, inputs, linear, cts);
  Values outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (linear[i]) outputs.push_back(in_cts[i] ? *in_cts[i] : ops::zeros(b, p.types[p.inputs[i]]));
  return b.finish_pruned(outputs);
}

}  // namespace tessera::inline v0
