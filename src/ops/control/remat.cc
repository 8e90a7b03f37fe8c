// remat: a region whose intermediate values are recomputed for the backward pass instead of saved.
#include "ir/interpret.h"
#include "ir/op.h"
#include "ir/policy.h"
#include "ops/build.h"
#include "ops/control/nested.h"

namespace tessera::inline v0::ops {

Values remat(Builder& b, ProgramPtr body, std::span<const Value> inputs, HookPtr policy) {
  Attrs attrs{{"body", std::move(body)}};
  if (policy) attrs.set("policy", std::move(policy));
  return b.emit("remat", inputs, std::move(attrs));
}

namespace {

struct SaveNothing : RematPolicy {
  std::string name() const override { return "nothing_saveable"; }
  bool saveable(const Equation&, const Program&) const override { return false; }
};

HookPtr policy_of(const Attrs& attrs) {
  return attrs.has("policy") ? attrs.get<HookPtr>("policy") : nullptr;
}

JvpBoth remat_jvp(const JvpBothArgs& a) {
  std::vector<bool> nonzero;
  Values inputs(a.inputs.begin(), a.inputs.end());
  for (const MaybeValue& t : a.tangents) {
    nonzero.push_back(t.has_value());
    if (t) inputs.push_back(*t);
  }
  JvpProgram jvp = jvp_program(*a.attrs.program("body"), nonzero);
  Values out = remat(a.b, jvp.program, inputs, policy_of(a.attrs));
  JvpBoth r;
  std::size_t next = jvp.nonzero_out.size();
  r.outputs.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(next));
  for (bool nonzero_out : jvp.nonzero_out)
    r.tangents.push_back(nonzero_out ? MaybeValue(out[next++]) : MaybeValue());
  return r;
}

// The known results are computed at once. The unknown side is again a remat region, which starts
// from the known inputs and the values that the policy saves.
PartialEvalResult remat_partial_eval(const PartialEvalArgs& a) {
  static const SaveNothing nothing;
  HookPtr hook = policy_of(a.attrs);
  const auto* policy = hook ? dynamic_cast<const RematPolicy*>(hook.get()) : &nothing;
  if (!policy) throw InternalError("the policy of remat is a RematPolicy");
  std::vector<bool> unknown;
  Values known;
  for (const MaybeValue& v : a.inputs) {
    unknown.push_back(!v);
    if (v) known.push_back(*v);
  }
  PartialEvaluation split = partial_eval_saving(*a.attrs.program("body"), unknown, *policy);
  Values out = a.known.inline_program(*split.known, known);
  PartialEvalResult r;
  std::size_t next = 0;
  for (bool u : split.unknown_out) r.outputs.push_back(u ? MaybeValue() : MaybeValue(out[next++]));
  if (split.unknown->outputs.empty()) return r;
  r.residuals.assign(out.begin() + static_cast<std::ptrdiff_t>(next), out.end());
  r.op = &a.op;
  r.attrs = a.attrs;
  r.attrs.set("body", split.unknown);
  return r;
}

// Recomputes the region and transposes it, in a region of its own. The barrier keeps the
// recomputation from being merged with the first computation, which would keep the values alive
// after all.
MaybeValues remat_transpose(const TransposeArgs& a) {
  const Program& body = *a.attrs.program("body");
  std::vector<bool> linear(a.linear.begin(), a.linear.end());
  Builder b(body.name);
  MaybeValues in(a.inputs.size()), cts(a.cotangents.size());
  Values outside;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (linear[i]) continue;
    in[i] = optimization_barrier(b.input(body.types[body.inputs[i]]));
    outside.push_back(*a.inputs[i]);
  }
  for (std::size_t i = 0; i < cts.size(); ++i) {
    if (!a.cotangents[i]) continue;
    cts[i] = b.input(body.types[body.outputs[i]]);
    outside.push_back(*a.cotangents[i]);
  }
  MaybeValues in_cts = transpose_inline(b, body, in, linear, cts);
  Values out;
  for (const MaybeValue& ct : in_cts)
    if (ct) out.push_back(*ct);
  MaybeValues r(a.inputs.size());
  if (out.empty()) return r;
  out = remat(a.b, b.finish_pruned(out), outside, policy_of(a.attrs));
  std::size_t next = 0;
  for (std::size_t i = 0; i < r.size(); ++i)
    if (in_cts[i]) r[i] = out[next++];
  return r;
}

BatchResult remat_batch(const BatchArgs& a) {
  std::vector<int> dims(a.dims.begin(), a.dims.end());
  BatchProgram batched = batch_program(*a.attrs.program("body"), dims, a.size, a.axis_name);
  BatchResult r;
  r.outputs = remat(a.b, batched.program, a.inputs, policy_of(a.attrs));
  for (bool stacked : batched.batched_out) r.dims.push_back(stacked ? 0 : kUnbatched);
  return r;
}

std::vector<OpExample> remat_examples() {
  Type vector(DType::float32, {3});
  Builder b("region");
  Value x = b.input(vector), y = b.input(vector);
  Values out{mul(mul(x, y), mul(x, x))};
  return {{{vector, vector}, {{"body", ProgramPtr(b.finish(out))}}}};
}

}  // namespace

void register_remat(Registry& r) {
  Op op = body_op(
      "remat",
      "body(operands...), whose intermediate values are not kept for the backward pass: it starts "
      "from the operands, and from "
      "what the policy keeps, and computes the rest again. Elsewhere it is the body.");
  op.attrs = {{"body", AttrKind::program, "(operands...) -> results"},
              {"policy", AttrKind::hook, "optional RematPolicy; without one nothing is kept"}};
  op.jvp_both = remat_jvp;
  op.partial_eval = remat_partial_eval;
  op.transpose = remat_transpose;
  op.batch = remat_batch;
  op.flow = [](const Attrs& attrs) {
    return Flow{.programs = {attrs.program("body")}, .waits = true};
  };
  op.with_flow = [](const Attrs& attrs, const Flow& f) {
    Attrs changed = attrs;
    changed.set("body", f.body());
    return changed;
  };
  op.waived["jvp"] = "jvp_both makes primals and tangents in one region";
  op.examples = remat_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
