// custom_vjp: a function with a user-defined reverse-mode rule, and a placeholder for its tangents.
//
// Differentiating the call runs the rule's forward pass and emits `custom_vjp_tangent`, a linear
// function of the tangents that cannot be executed and whose transpose is the rule's backward pass.
#include "ir/custom.h"
#include "ir/interpret.h"
#include "ir/op.h"
#include "ops/batching.h"
#include "ops/build.h"
#include "ops/control/nested.h"
#include "ops/control/stacked_rule.h"

namespace tessera::inline v0::ops {

Values custom_vjp_call(Builder& b, ProgramPtr body, std::span<const Value> inputs, HookPtr rule) {
  return b.emit("custom_vjp_call", inputs, {{"body", std::move(body)}, {"rule", std::move(rule)}});
}

namespace {

const CustomVjpRule& vjp_rule_of(const HookPtr& hook) {
  if (auto* rule = dynamic_cast<const CustomVjpRule*>(hook.get())) return *rule;
  throw InternalError("the rule of a custom_vjp_call is a CustomVjpRule");
}

std::vector<Type> residual_types(const Program& forward, std::size_t results) {
  std::vector<Type> types = forward.output_types();
  return {types.begin() + static_cast<std::ptrdiff_t>(results), types.end()};
}

std::size_t floating_count(const std::vector<Type>& types) {
  std::size_t n = 0;
  for (const Type& t : types) n += is_differentiable(t.dtype) ? 1 : 0;
  return n;
}

// The backward program for stacked inputs. `dims` are those of the residuals; the cotangents of the
// results are stacked along dimension 0. The cotangent of an unstacked input is summed over the
// lanes.
ProgramPtr stacked_backward(const Program& backward, std::vector<int> dims,
                            const std::vector<int>& input_dims, std::int64_t size,
                            const std::string& axis_name) {
  dims.resize(backward.inputs.size(), 0);
  BatchProgram batched = batch_program(backward, dims, size, axis_name,
                                       std::vector<bool>(backward.outputs.size(), true));
  Builder b(backward.name);
  Values in;
  for (Var v : batched.program->inputs) in.push_back(b.input(batched.program->types[v]));
  Values out = b.inline_program(*batched.program, in);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] =
        input_dims[i] == kUnbatched ? reduce_sum(out[i], {0}) : move_dim(out[i], 0, input_dims[i]);
  return b.finish_pruned(out);
}

struct StackedVjpRule : CustomVjpRule, Stacking {
  explicit StackedVjpRule(const BatchArgs& a)
      : Stacking(stacking_of(a)), results(a.attrs.program("body")->outputs.size()) {}

  const std::size_t results;

  std::string name() const override { return inner->name(); }
  ProgramPtr forward(const std::vector<Type>& inputs) const override {
    return batched_forward(lane(inputs)).program;
  }
  ProgramPtr backward(const std::vector<Type>& inputs, const std::vector<Type>&) const override {
    std::vector<Type> one = lane(inputs);
    BatchProgram fwd = batched_forward(one);
    std::vector<int> residual_dims, input_dims;
    for (std::size_t i = results; i < fwd.batched_out.size(); ++i)
      residual_dims.push_back(fwd.batched_out[i] ? 0 : kUnbatched);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (is_differentiable(inputs[i].dtype)) input_dims.push_back(dims[i]);
    ProgramPtr bwd =
        vjp_rule_of(inner).backward(one, residual_types(*vjp_rule_of(inner).forward(one), results));
    return stacked_backward(*bwd, std::move(residual_dims), input_dims, size, axis_name);
  }

 private:
  BatchProgram batched_forward(const std::vector<Type>& one) const {
    ProgramPtr fwd = vjp_rule_of(inner).forward(one);
    std::vector<bool> force(fwd->outputs.size());
    std::fill_n(force.begin(), results, true);
    return batch_program(*fwd, dims, size, axis_name, force);
  }
};

void check_types(const JvpBothArgs& a, const std::string& what, std::vector<Type> got,
                 const std::vector<Type>& want) {
  if (got.size() < want.size())
    throw InternalError("the rule of '" + a.attrs.get<HookPtr>("rule")->name() +
                        "' gives too few values");
  for (std::size_t i = 0; i < want.size(); ++i)
    if (got[i].dtype != want[i].dtype || !(got[i].shape == want[i].shape))
      Message("custom_vjp")
          .problem("the " + what + " of '" + a.attrs.get<HookPtr>("rule")->name() + "' gives " +
                   to_string(got[i]))
          .rule(
              "results have the types of the function's results, and cotangents those of its "
              "arguments, here " +
              to_string(want[i]))
          .from(a.b.loc)
          .advice("astype or reshape on what the rule returns")
          .raise<TraceError>();
}

JvpBoth custom_vjp_jvp(const JvpBothArgs& a) {
  const CustomVjpRule& rule = vjp_rule_of(a.attrs.get<HookPtr>("rule"));
  std::vector<Type> types, floating, results = a.attrs.program("body")->output_types();
  Ints present;
  Values tangents;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    types.push_back(a.inputs[i].type());
    if (a.tangents[i]) {
      present.push_back(static_cast<std::int64_t>(floating.size()));
      tangents.push_back(*a.tangents[i]);
    }
    if (is_differentiable(types[i].dtype)) floating.push_back(types[i]);
  }
  ProgramPtr forward = rule.forward(types);
  check_types(a, "forward pass", forward->output_types(), results);
  std::vector<Type> residuals = residual_types(*forward, results.size());
  ProgramPtr backward = rule.backward(types, residuals);
  check_types(a, "backward pass", backward->output_types(), floating);

  Values out = a.b.inline_program(*forward, a.inputs);
  Values operands(out.begin() + static_cast<std::ptrdiff_t>(results.size()), out.end());
  operands.insert(operands.end(), tangents.begin(), tangents.end());
  out.resize(results.size());
  Values out_tangents;
  if (floating_count(results) > 0)
    out_tangents = a.b.emit("custom_vjp_tangent", operands,
                            {{"backward", backward},
                             {"residuals", static_cast<std::int64_t>(residuals.size())},
                             {"present", std::move(present)}});
  JvpBoth r;
  std::size_t next = 0;
  for (const Value& v : out)
    r.tangents.push_back(is_differentiable(v.dtype()) ? MaybeValue(out_tangents[next++])
                                                      : MaybeValue());
  r.outputs = std::move(out);
  return r;
}

BatchResult custom_vjp_batch(const BatchArgs& a) {
  return mapped_call(a, std::make_shared<StackedVjpRule>(a));
}

// custom_vjp_tangent: the operands are the residuals, then the tangents of the floating inputs
// listed in `present`. The results are the tangents of the floating results, with the types of the
// backward pass's cotangents.
std::vector<Type> tangent_infer(const InferArgs& a) {
  const Program& backward = *a.attrs.program("backward");
  std::size_t residuals = static_cast<std::size_t>(a.attrs.i("residuals"));
  const Ints& present = a.attrs.ints("present");
  if (a.inputs.size() != residuals + present.size())
    throw InternalError("custom_vjp_tangent has another number of operands");
  for (std::size_t i = 0; i < residuals; ++i)
    check_same(a, "residual " + std::to_string(i), a.inputs[i], backward.types[backward.inputs[i]]);
  for (std::size_t i = 0; i < present.size(); ++i)
    check_same(a, "tangent " + std::to_string(i), a.inputs[residuals + i],
               backward.types[backward.outputs.at(static_cast<std::size_t>(present[i]))]);
  std::vector<Type> results;
  for (std::size_t i = residuals; i < backward.inputs.size(); ++i)
    results.push_back(backward.types[backward.inputs[i]]);
  return results;
}

[[noreturn]] void no_forward_mode(const SourceLoc& loc) {
  Message("jvp")
      .problem("a function with a custom_vjp rule has no forward-mode derivative")
      .rule("custom_vjp gives the backward pass only")
      .from(loc)
      .advice("grad or vjp instead of jvp, or a custom_jvp rule, which serves both modes")
      .raise<TraceError>();
}

JvpBoth tangent_jvp(const JvpBothArgs& a) {
  std::size_t residuals = static_cast<std::size_t>(a.attrs.i("residuals"));
  for (std::size_t i = 0; i < residuals; ++i)
    if (a.tangents[i]) no_forward_mode(a.b.loc);
  JvpBoth r;
  r.outputs = a.b.emit(a.op, a.inputs, a.attrs);
  Values operands(a.inputs.begin(), a.inputs.begin() + static_cast<std::ptrdiff_t>(residuals));
  Ints present;
  for (std::size_t i = residuals; i < a.inputs.size(); ++i) {
    if (!a.tangents[i]) continue;
    present.push_back(a.attrs.ints("present")[i - residuals]);
    operands.push_back(*a.tangents[i]);
  }
  Attrs attrs = a.attrs;
  attrs.set("present", std::move(present));
  for (const Value& v : a.b.emit(a.op, operands, std::move(attrs))) r.tangents.push_back(v);
  return r;
}

// In a typed shard_map the backward pass itself must sum the cotangents of devices that share an
// argument. Without the sum, each device would get a different cotangent.
void check_varying(const TransposeArgs& a, const Type& got, const Type& want) {
  for (const std::string& axis : got.varying)
    if (!want.varying.contains(axis))
      Message("custom_vjp")
          .problem("the backward pass gives a cotangent that varies over '" + axis +
                   "', for an argument that is the same on all devices along it")
          .rule(
              "in a typed shard_map a cotangent varies at most over the axes of the argument that "
              "it belongs to")
          .from(a.b.loc)
          .advice("sum it in the rule, ts::psum(ct, \"" + axis +
                  "\"), or make the argument vary where the function is called, ts::pvary(x, \"" +
                  axis + "\")")
          .raise<CollectiveError>();
}

MaybeValues tangent_transpose(const TransposeArgs& a) {
  const Program& backward = *a.attrs.program("backward");
  std::size_t residuals = static_cast<std::size_t>(a.attrs.i("residuals"));
  const Ints& present = a.attrs.ints("present");
  Values in;
  for (std::size_t i = 0; i < residuals; ++i) in.push_back(*a.inputs[i]);
  for (std::size_t i = 0; i < a.cotangents.size(); ++i)
    in.push_back(a.cotangents[i] ? *a.cotangents[i]
                                 : zeros(a.b, backward.types[backward.inputs[residuals + i]]));
  Values out = a.b.inline_program(backward, in);
  MaybeValues r(residuals);
  for (std::int64_t i : present) {
    r.push_back(out.at(static_cast<std::size_t>(i)));
    check_varying(a, r.back()->type(), a.types[r.size() - 1]);
  }
  return r;
}

BatchResult tangent_batch(const BatchArgs& a) {
  const Program& backward = *a.attrs.program("backward");
  std::size_t residuals = static_cast<std::size_t>(a.attrs.i("residuals"));
  const Ints& present = a.attrs.ints("present");
  std::vector<int> residual_dims(a.dims.begin(),
                                 a.dims.begin() + static_cast<std::ptrdiff_t>(residuals));
  std::vector<int> input_dims(backward.outputs.size(), kUnbatched);
  for (std::size_t i = 0; i < present.size(); ++i)
    input_dims[static_cast<std::size_t>(present[i])] = a.dims[residuals + i];
  Attrs attrs = a.attrs;
  attrs.set("backward",
            stacked_backward(backward, std::move(residual_dims), input_dims, a.size, a.axis_name));
  BatchResult r;
  r.outputs = a.b.emit(a.op, a.inputs, std::move(attrs));
  r.dims.assign(r.outputs.size(), 0);
  return r;
}

// x^2, which saves x and returns 2x ct.
struct SquareVjpRule : CustomVjpRule {
  std::string name() const override { return "square"; }
  ProgramPtr forward(const std::vector<Type>& inputs) const override {
    Builder b("square");
    Value x = b.input(inputs[0]);
    Values out{mul(x, x), x};
    return b.finish(out);
  }
  ProgramPtr backward(const std::vector<Type>& inputs, const std::vector<Type>&) const override {
    Builder b("square");
    Value x = b.input(inputs[0]), ct = b.input(inputs[0]);
    Values out{mul(add(x, x), ct)};
    return b.finish(out);
  }
};

const char* const kNoDifferences = "it has no forward mode";

std::vector<OpExample> custom_vjp_examples() {
  Type vector(DType::float32, {3});
  Builder b("square");
  Value x = b.input(vector);
  Values out{mul(x, x)};
  OpExample e{
      {vector},
      {{"body", ProgramPtr(b.finish(out))}, {"rule", HookPtr(std::make_shared<SquareVjpRule>())}}};
  e.no_numeric_derivative = kNoDifferences;
  return {e};
}

std::vector<OpExample> tangent_examples() {
  Type vector(DType::float32, {3});
  OpExample e{{vector, vector},
              {{"backward", SquareVjpRule().backward({vector}, {vector})},
               {"residuals", std::int64_t{1}},
               {"present", Ints{0}}}};
  e.no_numeric_derivative = kNoDifferences;
  return {e};
}

Op call_op() {
  Op op = custom_call_op(
      "custom_vjp_call",
      "body(operands...), whose reverse-mode derivative is what the rule says instead of the "
      "body's. It has no forward mode.",
      "a CustomVjpRule");
  op.jvp_both = custom_vjp_jvp;
  op.batch = custom_vjp_batch;
  op.examples = custom_vjp_examples;
  return op;
}

Op tangent_op() {
  Op op;
  op.name = "custom_vjp_tangent";
  op.doc =
      "The tangents of a function with a custom_vjp rule, as a linear function of its inputs' "
      "tangents that exists only to be "
      "transposed: its transpose is the rule's backward pass.";
  op.attrs = {
      {"backward", AttrKind::program,
       "(residuals..., cotangents of results...) -> cotangents of inputs"},
      {"residuals", AttrKind::integer, "how many operands are residuals"},
      {"present", AttrKind::ints, "which of the inputs the other operands are the tangents of"}};
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::expanded;
  op.infer = tangent_infer;
  op.jvp_both = tangent_jvp;
  op.transpose = tangent_transpose;
  op.batch = tangent_batch;
  op.backward_only = true;
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs&) { return Cost{}; };
  op.evaluate = [](const EvalArgs&) { no_forward_mode({}); };
  op.waived = {{"jvp", "linear: jvp_both emits it again"},
               {"sharding", "never run"},
               {"emit", "never run"},
               {"updates", "never run"},
               {"stablehlo", "never run"}};
  op.examples = tangent_examples;
  return op;
}

}  // namespace

void register_custom_vjp(Registry& r) {
  r.add(call_op());
  r.add(tangent_op());
}

}  // namespace tessera::inline v0::ops
