#include <tessera/vmap.h>

#include "api/trace/map_axes.h"
#include "ir/interpret.h"
#include "ir/op.h"
#include "ops/build.h"

namespace tessera::inline v0::detail {
namespace {

[[noreturn]] void batched_but_replicated(const TracedFunction& f, const TreeDef& described,
                                         const std::vector<int>& axes,
                                         const std::vector<bool>& batched, const SourceLoc& loc) {
  Message m("vmap");
  m.problem("out_axes says replicated for results that differ between examples");
  const std::vector<std::string> paths = described.paths("result");
  std::size_t next = 0;
  for (std::size_t i = 0; i < f.result_present.size(); ++i) {
    if (!f.result_present[i]) continue;
    if (axes[next] == kReplicated && batched[next])
      m.offender(paths[i] + ": " + visible_text(f.program->type(f.program->outputs[next])) +
                 " for each example");
    ++next;
  }
  m.rule("only a result that depends on no mapped argument is the same for all examples")
      .from(loc)
      .advice(
          "stack it with an axis in out_axes, or reduce it over the examples with a collective "
          "over axis_name")
      .raise<ShapeError>();
}

Value move_front_to(Value x, int to) {
  Ints order;
  for (int i = 1; i < x.rank(); ++i) order.push_back(i);
  order.insert(order.begin() + to, 0);
  return ops::transpose(x, order);
}

}  // namespace

Outcome vmap(Call& call, const VmapOptions& options, std::source_location where) {
  const SourceLoc loc = line_of(where);
  check_axis_name("vmap", options.axis_name, loc);
  const MappedArguments mapped =
      mapped_arguments("vmap", call, options.in_axes, options.axis_size, loc);
  TracedFunction f;
  {
    std::vector<BoundAxis> bound;
    if (!options.axis_name.empty())
      bound.push_back({options.axis_name, mapped.size, BoundAxis::Kind::vmap});
    AxisScope scope(std::move(bound));
    f = trace_call(call, "vmap", "vmap", example_types(call, mapped));
  }
  const TreeDef described = call.describe_result();
  const std::vector<int> out_axes = result_axes("vmap", f, options.out_axes, described, loc);

  std::vector<int> dims;
  for (int axis : mapped.axes) dims.push_back(axis == kReplicated ? kUnbatched : axis);
  dims.resize(f.program->inputs.size(), kUnbatched);
  std::vector<bool> stacked;
  for (int axis : out_axes) stacked.push_back(axis != kReplicated);
  const BatchProgram batch =
      batch_program(*f.program, dims, mapped.size, options.axis_name, stacked);
  for (std::size_t i = 0; i < out_axes.size(); ++i)
    if (out_axes[i] == kReplicated && batch.batched_out[i])
      batched_but_replicated(f, described, out_axes, batch.batched_out, loc);

  ProgramPtr program = batch.program;
  bool moved = false;
  for (int axis : out_axes) moved |= axis > 0;
  if (moved) {
    Builder b("vmap");
    Values in;
    for (Var v : program->inputs) in.push_back(b.input(program->type(v)));
    Values out = b.inline_program(*program, in);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out_axes[i] > 0) out[i] = move_front_to(out[i], out_axes[i]);
    program = b.finish(out);
  }
  return outcome(f, apply(program, operands(call, f, "vmap", loc), loc));
}

}  // namespace tessera::inline v0::detail
