#include <tessera/custom.h>

#include "api/trace/differentiate.h"
#include "ir/custom.h"
#include "ops/build.h"

namespace tessera::inline v0::detail {
namespace {

/// The facts about the called function that its rules need later.
struct Signature {
  std::vector<bool> present;  // non-empty leaves of the arguments
  std::vector<bool> result_present;
  std::vector<Type> result_types;   // of the present results
  std::size_t explicit_inputs = 0;  // the function's captures follow these inputs
  std::vector<BoundAxis> axes;      // that collectives in a rule may name, whenever it is traced
  SourceLoc loc;
};

/// A rule's results on traced arguments; `leaves` has one array per leaf of the call.
struct RuleTrace {
  std::vector<Array> results;
  std::shared_ptr<void> prototype;
};
RuleTrace invoke_rule(const CallMaker& maker, std::vector<Array> leaves) {
  struct Context {
    std::vector<Array> leaves;
    RuleTrace out;
  } context{std::move(leaves), {}};
  maker.make(
      [](Call& call, void* c) {
        auto& ctx = *static_cast<Context*>(c);
        ctx.out.results = call.invoke(ctx.leaves);
        ctx.out.prototype = std::move(call.prototype);
      },
      &context);
  return std::move(context.out);
}

Value constant_program(Builder& b, const Array& a) {
  const Type& type = a.impl()->type;
  runtime::BufferPtr hold;
  const std::byte* bytes = runtime::dense_bytes(*data_of(*a.impl()), hold);
  auto copy = std::make_shared<const std::vector<std::byte>>(bytes, bytes + type.bytes());
  const Value v = ops::constant(b, Literal{type.dtype, type.shape, std::move(copy)});
  return ops::convert(v, type.dtype, type.weak);
}

/// Finishes the trace of a rule. Arguments are the only operands of a rule, so its captures become
/// part of the program.
ProgramPtr close_scope(Trace& trace, std::span<const Array> outputs, const char* function,
                       const SourceLoc& loc) {
  Trace::Finished f = trace.finish(outputs);
  if (f.captures.empty()) return f.program;
  Builder b(f.program->name);
  Values in;
  const std::size_t own = f.program->inputs.size() - f.captures.size();
  for (std::size_t i = 0; i < own; ++i)
    in.push_back(b.input(f.program->type(f.program->inputs[i])));
  Values all = in;
  for (const Array& c : f.captures) {
    if (!c.is_concrete())
      Message(function)
          .problem("the rule uses a traced array " + visible_text(c.impl()->type) +
                   " from outside" +
                   (c.impl()->loc ? ", made at " + to_string(c.impl()->loc) : std::string()))
          .rule("a derivative rule sees only its arguments, and arrays that have values")
          .from(loc)
          .advice("make it an argument of the function, and pass it")
          .raise<TraceError>();
    all.push_back(constant_program(b, c));
  }
  return b.finish(b.inline_program(*f.program, all));
}

Array zeros_of(Trace& t, const Type& type) {
  const Value v = ops::zeros(t.builder(), type);
  return make_traced(t.id(), v.var, type, {});
}

/// Converts a bare number that a rule returned to the dtype of the function's result.
Array in_dtype_of(Trace& t, const Array& x, const Type& want, const char* function) {
  const Type& is = x.impl()->type;
  if (!is.weak || !is_floating(is.dtype) || !is_inexact(want.dtype)) return x;
  const Value v = ops::convert(t.lift(x, function), want.dtype, want.weak);
  return make_traced(t.id(), v.var, v.type(), {});
}

[[noreturn]] void captured_differentiated(const char* function, const SourceLoc& loc) {
  Message(function)
      .problem("the function captures an array that is being differentiated")
      .rule("a derivative rule says nothing about captured arrays")
      .from(loc)
      .advice("make it an argument of the function")
      .raise<TraceError>();
}

/// All leaves of the arguments, given the values of the non-empty ones.
std::vector<Array> argument_leaves(const Signature& s, std::span<const Array> inputs) {
  std::vector<Array> leaves;
  std::size_t next = 0;
  for (bool p : s.present) leaves.push_back(p ? inputs[next++] : Array());
  return leaves;
}

[[noreturn]] void wrong_structure(const char* function, const std::string& what,
                                  const SourceLoc& loc) {
  Message(function)
      .problem(what)
      .rule("the rule gives trees like the function's result, with the same leaves")
      .from(loc)
      .raise<TreeError>();
}

// -------------------------------------------------------------------------------------------------
// jvp

struct JvpRule final : CustomJvpRule {
  Signature s;
  std::unique_ptr<CallMaker> user;

  std::string name() const override { return "custom_jvp(" + to_string(s.loc) + ")"; }
  ProgramPtr rule(const std::vector<Type>& inputs,
                  const std::vector<bool>& nonzero) const override {
    const AxisScope scope(s.axes);
    Trace trace("custom_jvp rule", "custom_jvp rule");
    std::vector<Array> primals, tangents;
    for (const Type& t : inputs) primals.push_back(trace.input(t));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (nonzero[i] && i >= s.explicit_inputs) captured_differentiated("custom_jvp", s.loc);
      if (nonzero[i])
        tangents.push_back(trace.input(inputs[i]));
      else
        tangents.push_back(is_differentiable(inputs[i].dtype) ? zeros_of(trace, inputs[i])
                                                              : Array());
    }
    std::vector<Array> leaves = argument_leaves(s, primals);
    const std::vector<Array> tangent_leaves = argument_leaves(s, tangents);
    leaves.insert(leaves.end(), tangent_leaves.begin(), tangent_leaves.end());
    const RuleTrace r = invoke_rule(*user, std::move(leaves));

    const std::size_t count = s.result_present.size();
    if (r.results.size() != 2 * count)
      wrong_structure("custom_jvp",
                      "the rule's result has another number of leaves than the function's", s.loc);
    std::vector<Array> outputs;
    for (std::size_t i = 0; i < count; ++i) {
      if (!s.result_present[i]) continue;
      if (r.results[i].is_empty())
        wrong_structure("custom_jvp",
                        "the rule's result has an empty leaf where the function's has an array",
                        s.loc);
      outputs.push_back(
          in_dtype_of(trace, r.results[i], s.result_types.at(outputs.size()), "custom_jvp"));
    }
    const std::size_t primal_outputs = outputs.size();
    std::size_t k = 0;
    for (std::size_t i = 0; i < count && k < primal_outputs; ++i) {
      if (!s.result_present[i]) continue;
      const Type t = outputs[k++].impl()->type;
      if (!is_differentiable(t.dtype)) continue;
      const Array& tangent = r.results[count + i];
      outputs.push_back(tangent.is_empty() ? zeros_of(trace, t)
                                           : in_dtype_of(trace, tangent, t, "custom_jvp"));
    }
    return close_scope(trace, outputs, "custom_jvp", s.loc);
  }
};

// -------------------------------------------------------------------------------------------------
// vjp

struct VjpRule final : CustomVjpRule {
  Signature s;
  std::unique_ptr<CallMaker> user_forward;
  std::unique_ptr<BackwardMaker> user_backward;

  std::string name() const override { return "custom_vjp(" + to_string(s.loc) + ")"; }

  struct Forward {
    ProgramPtr program;
    std::vector<bool> residual_present;
    std::shared_ptr<void> prototype;
  };
  Forward trace_forward(const std::vector<Type>& inputs) const {
    const AxisScope scope(s.axes);
    Trace trace("custom_vjp forward rule", "custom_vjp forward");
    std::vector<Array> primals;
    for (const Type& t : inputs) primals.push_back(trace.input(t));
    const RuleTrace r = invoke_rule(*user_forward, argument_leaves(s, primals));
    const std::size_t count = s.result_present.size();
    if (r.results.size() < count)
      wrong_structure("custom_vjp",
                      "the forward rule's result has fewer leaves than the function's", s.loc);
    Forward f;
    std::vector<Array> outputs;
    for (std::size_t i = 0; i < r.results.size(); ++i) {
      const bool present = !r.results[i].is_empty();
      if (i < count && present != s.result_present[i])
        wrong_structure("custom_vjp",
                        "the forward rule's result has other empty leaves than the function's",
                        s.loc);
      if (i >= count) f.residual_present.push_back(present);
      if (present && i < count)
        outputs.push_back(
            in_dtype_of(trace, r.results[i], s.result_types.at(outputs.size()), "custom_vjp"));
      else if (present)
        outputs.push_back(r.results[i]);
    }
    f.program = close_scope(trace, outputs, "custom_vjp", s.loc);
    f.prototype = r.prototype;
    return f;
  }

  ProgramPtr forward(const std::vector<Type>& inputs) const override {
    return trace_forward(inputs).program;
  }

  ProgramPtr backward(const std::vector<Type>& inputs,
                      const std::vector<Type>& residuals) const override {
    const Forward f = trace_forward(inputs);
    const std::unique_ptr<CallMaker> user = user_backward->make(f.prototype.get());
    const AxisScope scope(s.axes);
    Trace trace("custom_vjp backward rule", "custom_vjp backward");
    std::vector<Array> leaves;
    std::size_t next = 0;
    for (bool p : f.residual_present)
      leaves.push_back(p ? trace.input(residuals[next++]) : Array());
    next = 0;
    for (bool p : s.result_present) {
      if (!p) {
        leaves.emplace_back();
        continue;
      }
      const Type& t = f.program->type(f.program->outputs[next++]);
      leaves.push_back(is_differentiable(t.dtype) ? trace.input(t) : Array());
    }
    const RuleTrace r = invoke_rule(*user, std::move(leaves));
    if (r.results.size() != s.present.size())
      wrong_structure(
          "custom_vjp",
          "the backward rule gives another number of cotangents than there are argument leaves",
          s.loc);
    std::vector<Array> outputs;
    std::size_t input = 0;
    for (std::size_t i = 0; i < s.present.size(); ++i) {
      if (!s.present[i]) continue;
      const Type& t = inputs[input++];
      if (is_differentiable(t.dtype))
        outputs.push_back(r.results[i].is_empty()
                              ? zeros_of(trace, t)
                              : in_dtype_of(trace, r.results[i], t, "custom_vjp"));
    }
    for (; input < inputs.size(); ++input)  // for the captures of the function
      if (is_differentiable(inputs[input].dtype)) outputs.push_back(zeros_of(trace, inputs[input]));
    return close_scope(trace, outputs, "custom_vjp", s.loc);
  }
};

Signature signature(const Call& call, const TracedFunction& f, const SourceLoc& loc) {
  Signature s;
  for (const Array* x : call.args.leaves) s.present.push_back(!x->is_empty());
  s.result_present = f.result_present;
  s.result_types = f.program->output_types();
  s.explicit_inputs = f.explicit_inputs();
  s.axes = AxisScope::bound();
  s.loc = loc;
  return s;
}

Outcome emit(const char* op, Call& call, const TracedFunction& f, HookPtr rule,
             const SourceLoc& loc) {
  // Outside traces the call runs at once and is not differentiated. Emitting the op would compile
  // it anew for each call, because rules are compared by identity.
  if (!Trace::innermost())
    return outcome(f, apply(f.program, operands(call, f, f.program->name, loc), loc));
  Builder b(op);
  b.loc = loc;
  const Values in = inputs_of(b, *f.program);
  const Values out = b.emit(op, in, {{"body", f.program}, {"rule", std::move(rule)}});
  return outcome(f, apply(b.finish(out), operands(call, f, f.program->name, loc), loc));
}

}  // namespace

Outcome custom_jvp(Call& call, std::unique_ptr<CallMaker> user, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const TracedFunction f = trace_call(call, "custom_jvp", "custom_jvp");
  auto rule = std::make_shared<JvpRule>();
  rule->s = signature(call, f, loc);
  rule->user = std::move(user);
  return emit("custom_jvp_call", call, f, std::move(rule), loc);
}

Outcome custom_vjp(Call& call, std::unique_ptr<CallMaker> forward,
                   std::unique_ptr<BackwardMaker> backward, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const TracedFunction f = trace_call(call, "custom_vjp", "custom_vjp");
  auto rule = std::make_shared<VjpRule>();
  rule->s = signature(call, f, loc);
  rule->user_forward = std::move(forward);
  rule->user_backward = std::move(backward);
  return emit("custom_vjp_call", call, f, std::move(rule), loc);
}

}  // namespace tessera::inline v0::detail
