#include "api/transform/linear_map.h"

#include "ir/interpret.h"
#include "ops/build.h"
#include "ops/control/agree.h"

namespace tessera::inline v0::detail {

JvpOutcome jvp(Call& call, const Recorder& tangents, const TreeDef& tangent_tree,
               std::source_location where) {
  const SourceLoc loc = line_of(where);
  const TreeDef args = call.describe_args();
  if (!(args == tangent_tree))
    require_same_structure("jvp", args, "primals", tangent_tree, "tangents", loc);
  const TracedFunction f = trace_call(call, "jvp", "jvp");

  const std::vector<int> inputs = input_of_leaf(call);
  std::vector<bool> nonzero(f.program->inputs.size());
  std::vector<Array> operands_all = operands(call, f, "jvp", loc);
  std::vector<std::string> complaints;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Array& t = *tangents.leaves[i];
    if (t.is_empty() || inputs[i] < 0) continue;
    const auto k = static_cast<std::size_t>(inputs[i]);
    std::string why = tangent_complaint(t, f.program->type(f.program->inputs[k]),
                                        tangent_tree.paths("tangents")[i]);
    if (!why.empty()) complaints.push_back(std::move(why));
    nonzero[k] = true;
    operands_all.push_back(t);
  }
  if (!complaints.empty()) {
    Message m("jvp");
    m.problem("primals and tangents do not fit");
    for (auto& c : complaints) m.offender(std::move(c));
    m.rule("tangents have the dtype and shape of what they belong to")
        .from(loc)
        .advice("convert with astype, or make it with ts::ones_like of the primal")
        .raise<ShapeError>();
  }

  const std::size_t outputs = f.program->outputs.size();
  std::vector<bool> floating;
  for (const Type& t : f.program->output_types()) floating.push_back(is_differentiable(t.dtype));
  const JvpProgram p = jvp_program(*f.program, nonzero, floating);
  require_forward_mode(*p.program);

  Builder b("jvp");
  Values in;
  std::vector<AxisSet> varying;
  for (std::size_t i = 0; i < operands_all.size(); ++i) {
    const Type& want = p.program->type(p.program->inputs[i]);
    Value v = b.input(i < f.program->inputs.size() ? want : operands_all[i].impl()->type);
    v = b.vary_over(ops::convert(v, want.dtype, want.weak), want.varying);
    varying.push_back(v.type().varying);
    in.push_back(v);
  }
  // A tangent may vary over devices that share the primal.
  Values out = b.inline_program(*ops::retyped(p.program, varying), in);
  std::size_t tangent = outputs;
  for (std::size_t i = 0; i < outputs; ++i)
    if (p.nonzero_out[i]) {
      out[tangent] = b.vary_over(out[tangent], out[i].type().varying);
      ++tangent;
    }
  std::vector<Array> arrays = apply(b.finish_pruned(out), operands_all, loc);

  std::vector<Array> by_output(outputs);
  std::size_t next = outputs;
  for (std::size_t i = 0; i < outputs; ++i)
    if (p.nonzero_out[i]) by_output[i] = arrays[next++];
  arrays.resize(outputs);
  return {outcome(f, std::move(arrays)), spread(std::move(by_output), f.result_present)};
}

}  // namespace tessera::inline v0::detail
