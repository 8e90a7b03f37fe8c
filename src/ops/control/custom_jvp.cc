// custom_jvp: a function with a user-defined forward-mode rule.
#include "ir/custom.h"
#include "ir/interpret.h"
#include "ir/op.h"
#include "ops/batching.h"
#include "ops/build.h"
#include "ops/control/stacked_rule.h"

namespace tessera::inline v0::ops {

Values custom_jvp_call(Builder& b, ProgramPtr body, std::span<const Value> inputs, HookPtr rule) {
  return b.emit("custom_jvp_call", inputs, {{"body", std::move(body)}, {"rule", std::move(rule)}});
}

namespace {

const CustomJvpRule& jvp_rule_of(const HookPtr& hook) {
  if (auto* rule = dynamic_cast<const CustomJvpRule*>(hook.get())) return *rule;
  throw InternalError("the rule of a custom_jvp_call is a CustomJvpRule");
}

// The rule for stacked inputs: the original rule, batched.
struct StackedJvpRule : CustomJvpRule, Stacking {
  explicit StackedJvpRule(const BatchArgs& a) : Stacking(stacking_of(a)) {}

  std::string name() const override { return inner->name(); }
  ProgramPtr rule(const std::vector<Type>& inputs,
                  const std::vector<bool>& nonzero) const override {
    std::vector<int> all = dims;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (nonzero[i]) all.push_back(dims[i]);
    ProgramPtr one = jvp_rule_of(inner).rule(lane(inputs), nonzero);
    return batch_program(*one, all, size, axis_name, std::vector<bool>(one->outputs.size(), true))
        .program;
  }
};

JvpBoth custom_jvp_jvp(const JvpBothArgs& a) {
  const Program& body = *a.attrs.program("body");
  const HookPtr& hook = a.attrs.get<HookPtr>("rule");
  std::vector<Type> types, expected = body.output_types();
  std::vector<bool> nonzero;
  Values inputs(a.inputs.begin(), a.inputs.end());
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    types.push_back(a.inputs[i].type());
    nonzero.push_back(a.tangents[i].has_value());
    if (a.tangents[i]) inputs.push_back(*a.tangents[i]);
  }
  ProgramPtr rule = jvp_rule_of(hook).rule(types, nonzero);
  std::size_t results = expected.size();
  for (std::size_t i = 0; i < results; ++i)
    if (is_differentiable(expected[i].dtype)) expected.push_back(expected[i]);
  if (rule->outputs.size() != expected.size())
    throw InternalError("the rule of '" + hook->name() + "' gives " +
                        std::to_string(rule->outputs.size()) + " values, not " +
                        std::to_string(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Type& got = rule->types[rule->outputs[i]];
    if (got.dtype == expected[i].dtype && got.shape == expected[i].shape) continue;
    Message("custom_jvp")
        .problem("the rule of '" + hook->name() + "' gives " +
                 (i < results ? "a result " : "an output tangent ") + to_string(got))
        .rule("results and output tangents have the types of the function's results, here " +
              to_string(expected[i]))
        .from(a.b.loc)
        .advice("astype or reshape on what the rule returns")
        .raise<TraceError>();
  }
  Values out = a.b.inline_program(*rule, inputs);
  JvpBoth r;
  r.outputs.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(results));
  std::size_t next = results;
  for (const Value& v : r.outputs)
    r.tangents.push_back(is_differentiable(v.dtype()) ? MaybeValue(out[next++]) : MaybeValue());
  return r;
}

BatchResult custom_jvp_batch(const BatchArgs& a) {
  return mapped_call(a, std::make_shared<StackedJvpRule>(a));
}

// x^2 with the derivative 2x.
struct SquareJvpRule : CustomJvpRule {
  std::string name() const override { return "square"; }
  ProgramPtr rule(const std::vector<Type>& inputs, const std::vector<bool>&) const override {
    Builder b("square");
    Value x = b.input(inputs[0]), dx = b.input(inputs[0]);
    Values out{mul(x, x), mul(add(x, x), dx)};
    return b.finish(out);
  }
};

std::vector<OpExample> custom_jvp_examples() {
  Type vector(DType::float32, {3});
  Builder b("square");
  Value x = b.input(vector);
  Values out{mul(x, x)};
  ProgramPtr body = b.finish(out);
  return {{{vector}, {{"body", body}, {"rule", HookPtr(std::make_shared<SquareJvpRule>())}}}};
}

}  // namespace

void register_custom_jvp(Registry& r) {
  Op op = custom_call_op(
      "custom_jvp_call",
      "body(operands...), whose derivative is what the rule says instead of the body's.",
      "a CustomJvpRule");
  op.jvp_both = custom_jvp_jvp;
  op.batch = custom_jvp_batch;
  op.examples = custom_jvp_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
