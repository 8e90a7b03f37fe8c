#include "api/transform/linear_map.h"

#include "api/devices/nested.h"
#include "ops/build.h"

namespace tessera::inline v0::detail {

std::string tangent_complaint(const Array& got, const Type& want, const std::string& path) {
  const Type& t = got.impl()->type;
  if (!is_differentiable(want.dtype))
    return path + " belongs to " + visible_text(want) + ", which has no derivative: leave it empty";
  const bool number =
      t.weak && (is_floating(t.dtype) || (is_complex(t.dtype) && is_complex(want.dtype)));
  if ((t.dtype == want.dtype || number) && t.shape == want.shape) return {};
  return path + " is " + visible_text(t) + ", but what it belongs to is " + visible_text(want);
}

Strings axes_too_many(const Array& got, const Type& want) {
  Strings axes;
  for (const std::string& axis : got.impl()->type.varying)
    if (!want.varying.contains(axis)) axes.push_back(axis);
  return axes;
}

namespace {

// The primal is equal on all devices along an axis, but the operand of the derivative varies along
// it. Either the sum over the devices or each device's own result would make sense, so the user
// must say which.
[[noreturn]] void varies_too_much(const LinearMap::State& s, const Strings& axes,
                                  const std::vector<std::string>& complaints,
                                  const SourceLoc& loc) {
  const std::string first = "\"" + axes[0] + "\"";
  Message m(s.function);
  m.problem("the " + s.argument + (s.backward ? " varies" : " vary") +
            " over axes along which what " + (s.backward ? "it belongs" : "they belong") +
            " to is the same");
  for (const std::string& c : complaints) m.offender(c);
  m.rule("in a typed shard_map a " + std::string(s.backward ? "cotangent" : "tangent") +
         " varies at most over the axes of the value that it belongs to")
      .from(loc);
  if (s.backward)
    m.advice("for each device's own derivative make the argument vary, vjp(f, ts::pvary(x, " +
             first + ")); for that of what all share sum the cotangent, ts::psum(ct, " + first +
             ")");
  else
    m.advice("make the argument vary, linearize(f, ts::pvary(x, " + first + ")), or use jvp");
  m.raise<CollectiveError>();
}

}  // namespace

std::vector<Array> LinearMap::operator()(const Recorder& in, const TreeDef& tree,
                                         std::source_location where) const {
  if (!state_) moved_away("the derivative", where);
  const State& s = *state_;
  const SourceLoc loc = line_of(where);
  if (!(tree == s.in_tree))
    require_same_structure(s.function.c_str(), s.in_tree,
                           s.backward ? "the result" : "the arguments", tree, "the " + s.argument,
                           loc);

  std::vector<Array> given(s.in_types.size());
  std::vector<std::string> complaints, too_varied;
  Strings too_many;
  for (std::size_t i = 0; i < s.in_leaf.size(); ++i) {
    const Array& x = *in.leaves[i];
    if (x.is_empty() || s.in_leaf[i] < 0) continue;
    const auto k = static_cast<std::size_t>(s.in_leaf[i]);
    std::string why = tangent_complaint(x, s.in_types[k], tree.paths(s.argument)[i]);
    if (why.empty())
      given[k] = x;
    else
      complaints.push_back(std::move(why));
    if (const Strings axes = axes_too_many(x, s.in_types[k]); !axes.empty()) {
      too_varied.push_back(tree.paths(s.argument)[i] + " varies over " + axes_list(axes));
      too_many.insert(too_many.end(), axes.begin(), axes.end());
    }
  }
  if (!complaints.empty()) {
    Message m(s.function);
    m.problem("the " + s.argument + (s.backward ? " does not fit" : " do not fit"));
    for (auto& c : complaints) m.offender(std::move(c));
    m.rule("tangents and cotangents have the dtype and shape of what they belong to")
        .from(loc)
        .advice("convert with astype, or make it with ts::zeros_like or ts::ones_like of the value")
        .raise<ShapeError>();
  }
  if (!too_many.empty()) varies_too_much(s, too_many, too_varied, loc);

  Builder b(s.function);
  Values residuals;
  std::vector<Array> operands = s.residuals;
  for (const Array& r : s.residuals) residuals.push_back(b.input(need(r, s.function.c_str()).type));
  MaybeValues live;
  for (std::size_t k = 0; k < s.in_types.size(); ++k) {
    if (!s.in_live[k]) continue;
    if (given[k].is_empty()) {
      live.emplace_back();
    } else {
      Value v = b.input(given[k].impl()->type);
      operands.push_back(given[k]);
      v = ops::convert(v, s.in_types[k].dtype, s.in_types[k].weak);
      live.push_back(b.vary_over(v, s.in_types[k].varying));
    }
  }
  Values results;
  if (s.backward) {
    results = pull_back(b, *s.lin.linear, residuals, live);
  } else {
    Values all = residuals;
    const Program& linear = *s.lin.linear;
    for (std::size_t i = 0; i < live.size(); ++i)
      all.push_back(live[i] ? *live[i]
                            : ops::zeros(b, linear.type(linear.inputs[residuals.size() + i])));
    results = b.inline_program(linear, all);
  }
  std::vector<Value> out;
  std::size_t next = 0;
  for (std::size_t k = 0; k < s.out_types.size(); ++k)
    if (is_differentiable(s.out_types[k].dtype))
      out.push_back(s.out_live[k] ? results[next++] : ops::zeros(b, s.out_types[k]));
  std::vector<Array> arrays = apply(b.finish_pruned(out), operands, loc);

  std::vector<Array> by_type(s.out_types.size());
  next = 0;
  for (std::size_t k = 0; k < s.out_types.size(); ++k)
    if (is_differentiable(s.out_types[k].dtype)) by_type[k] = arrays[next++];
  std::vector<Array> leaves;
  for (int k : s.out_leaf) leaves.push_back(k < 0 ? Array() : by_type[static_cast<std::size_t>(k)]);
  return leaves;
}

namespace {

LinearOutcome linearize_call(Call& call, bool backward, const char* function,
                             const SourceLoc& loc) {
  const TracedFunction f = trace_call(call, function, function);
  const std::vector<bool> wrt = [&] {
    std::vector<bool> mask(f.program->inputs.size());
    for (std::size_t i = 0; i < f.explicit_inputs(); ++i)
      mask[i] = is_differentiable(f.program->type(f.program->inputs[i]).dtype);
    return mask;
  }();
  auto s = std::make_shared<LinearMap::State>();
  s->function = function;
  s->backward = backward;
  s->lin = tessera::v0::linearize_program(*f.program, wrt);

  std::vector<Array> known = apply(s->lin.known, operands(call, f, f.program->name, loc), loc);
  const auto outputs = static_cast<std::ptrdiff_t>(f.program->outputs.size());
  s->residuals.assign(known.begin() + outputs, known.end());
  known.resize(static_cast<std::size_t>(outputs));

  std::vector<Type> arg_types = f.program->input_types();
  arg_types.resize(f.explicit_inputs());
  std::vector<bool> arg_live(wrt.begin(),
                             wrt.begin() + static_cast<std::ptrdiff_t>(f.explicit_inputs()));
  const std::vector<Type> result_types = f.program->output_types();
  if (backward) {
    s->argument = "cotangent";
    s->in_types = result_types, s->in_leaf = output_of_leaf(f), s->in_live = s->lin.nonzero_out;
    s->out_types = arg_types, s->out_leaf = input_of_leaf(call), s->out_live = arg_live;
    s->in_tree = call.describe_result();
  } else {
    require_forward_mode(*s->lin.linear);
    s->argument = "tangents";
    s->in_types = arg_types, s->in_leaf = input_of_leaf(call), s->in_live = arg_live;
    s->out_types = result_types, s->out_leaf = output_of_leaf(f), s->out_live = s->lin.nonzero_out;
    s->in_tree = call.describe_args();
  }
  return {outcome(f, std::move(known)), LinearMap(std::move(s))};
}

}  // namespace

LinearOutcome linearize(Call& call, std::source_location loc) {
  return linearize_call(call, false, "linearize", line_of(loc));
}
LinearOutcome vjp(Call& call, std::source_location loc) {
  return linearize_call(call, true, "vjp", line_of(loc));
}

}  // namespace tessera::inline v0::detail
