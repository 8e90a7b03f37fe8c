#include "api/trace/differentiate.h"

#include "ir/interpret.h"
#include "ops/build.h"

namespace tessera::inline v0::detail {

std::vector<int> input_of_leaf(const Call& call) {
  std::vector<int> out;
  int next = 0;
  for (const Array* x : call.args.leaves) out.push_back(x->is_empty() ? -1 : next++);
  return out;
}

std::vector<int> output_of_leaf(const TracedFunction& f) {
  std::vector<int> out;
  int next = 0;
  for (bool present : f.result_present) out.push_back(present ? next++ : -1);
  return out;
}

std::vector<int> all_arguments(const Call& call) {
  std::vector<int> out;
  for (std::size_t i = 0; i < call.arg_count(); ++i) out.push_back(static_cast<int>(i));
  return out;
}

std::vector<std::size_t> positions(const std::vector<bool>& mask) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) out.push_back(i);
  return out;
}

std::vector<bool> differentiated(const char* function, const Call& call, const TracedFunction& f,
                                 std::span<const int> argnums, const SourceLoc& loc) {
  std::vector<bool> wrt(f.program->inputs.size());
  const std::vector<int> inputs = input_of_leaf(call);
  std::vector<std::string> offenders;
  for (int arg : argnums) {
    bool any = false;
    for (std::size_t i = call.arg_begin(static_cast<std::size_t>(arg));
         i < call.arg_ends[static_cast<std::size_t>(arg)]; ++i) {
      if (inputs[i] < 0 ||
          !is_differentiable(
              f.program->type(f.program->inputs[static_cast<std::size_t>(inputs[i])]).dtype))
        continue;
      wrt[static_cast<std::size_t>(inputs[i])] = any = true;
    }
    if (any) continue;
    std::string leaves;
    for (std::size_t i = call.arg_begin(static_cast<std::size_t>(arg));
         i < call.arg_ends[static_cast<std::size_t>(arg)]; ++i)
      leaves += (leaves.empty() ? "" : ", ") + describe(*call.args.leaves[i]);
    offenders.push_back("args[" + std::to_string(arg) +
                        "] has no floating leaf: " + (leaves.empty() ? "no leaves" : leaves));
  }
  if (offenders.empty()) return wrt;
  Message m(function);
  m.problem("an argument cannot be differentiated");
  for (auto& o : offenders) m.offender(std::move(o));
  m.rule("derivatives are taken with respect to floating arrays")
      .from(loc)
      .advice("pass 3.0f instead of 3, or convert with astype(ts::f32)")
      .raise<DTypeError>();
}

Values inputs_of(Builder& b, const Program& p) {
  Values in;
  for (Var v : p.inputs) in.push_back(b.input(p.type(v)));
  return in;
}

KnownPart inline_known(Builder& b, const Linearized& lin, std::span<const Value> inputs) {
  Values all = b.inline_program(*lin.known, inputs);
  const auto outputs = static_cast<std::ptrdiff_t>(all.size() - lin.residuals);
  return {Values(all.begin(), all.begin() + outputs), Values(all.begin() + outputs, all.end())};
}

Values pull_back(Builder& b, const Program& linear, const Values& residuals,
                 std::span<const MaybeValue> cotangents) {
  MaybeValues inputs(linear.inputs.size());
  std::vector<bool> is_linear(linear.inputs.size(), true);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    inputs[i] = residuals[i];
    is_linear[i] = false;
  }
  MaybeValues back = transpose_inline(b, linear, inputs, is_linear, cotangents);
  Values out;
  for (std::size_t i = residuals.size(); i < linear.inputs.size(); ++i) {
    // A cotangent is weak if its primal is, so that it shows the same dtype.
    const Type& type = linear.type(linear.inputs[i]);
    const Value ct = back[i] ? ops::convert(*back[i], type.dtype, type.weak) : ops::zeros(b, type);
    out.push_back(b.vary_over(ct, type.varying));
  }
  return out;
}

}  // namespace tessera::inline v0::detail
