#include "api/trace/body.h"

#include "api/trace/composite.h"
#include "api/trace/differentiate.h"
#include "ops/build.h"
#include "ops/control/nested.h"

namespace tessera::inline v0::detail {

ProgramPtr captures_first(const TracedFunction& f) {
  if (f.captures.empty()) return f.program;
  std::vector<std::size_t> order;
  for (std::size_t i = f.explicit_inputs(); i < f.program->inputs.size(); ++i) order.push_back(i);
  for (std::size_t i = 0; i < f.explicit_inputs(); ++i) order.push_back(i);
  return ops::reordered(*f.program, order, ops::iota_positions(f.program->outputs.size()));
}

std::optional<Type> common_type(const Type& a, const Type& b) {
  if (!(a.shape == b.shape)) return std::nullopt;
  if (a.dtype != b.dtype && !a.weak && !b.weak) return std::nullopt;
  const Promoted p = promote_types(a, b);
  if ((!a.weak && p.dtype != a.dtype) || (!b.weak && p.dtype != b.dtype)) return std::nullopt;
  Type t = a;
  t.dtype = p.dtype;
  t.weak = a.weak && b.weak;
  t.varying |= b.varying;
  return t;
}

ProgramPtr with_output_types(const ProgramPtr& p, std::span<const Type> types) {
  bool same = true;
  for (std::size_t i = 0; i < types.size(); ++i)
    same &= p->type(p->outputs[i]).dtype == types[i].dtype &&
            p->type(p->outputs[i]).weak == types[i].weak;
  if (same) return p;
  Builder b(p->name);
  Values out = b.inline_program(*p, inputs_of(b, *p));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (out[i].dtype() != types[i].dtype || out[i].type().weak != types[i].weak)
      out[i] = ops::convert(out[i], types[i].dtype, types[i].weak);
  return b.finish(out);
}

namespace {

/// A type in the list of changed leaves; weak types are marked.
std::string carried_text(const Type& t) { return visible_text(t) + (t.weak ? " (weak)" : ""); }

/// Throws unless the body returns the carry with the structure that it received, including empty
/// leaves.
void check_structure(const char* function, const Call& body, const TracedFunction& f,
                     std::size_t arg, const TreeDef& in, const TreeDef& out, const SourceLoc& loc) {
  require_same_structure(function, in, "the carry", out, "the body's result", loc);
  Message m(function);
  bool differs = false;
  const std::vector<std::string> paths = in.paths("carry");
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const bool given = !body.args.leaves[body.arg_begin(arg) + i]->is_empty();
    if (given == f.result_present[i]) continue;
    differs = true;
    m.offender(paths[i] + (given ? ": an array goes in, an empty one comes out"
                                 : ": an empty array goes in, an array comes out"));
  }
  if (differs)
    m.problem("the body changes which leaves of its carry are empty")
        .rule("what a loop carries keeps its structure, dtypes and shapes from step to step")
        .from(loc)
        .advice("start from an array of the shape that comes out, such as ts::zeros")
        .raise<TreeError>();
}

}  // namespace

LoopBody trace_loop_body(const char* function, Call& body, std::vector<Type> types, int carry_arg,
                         bool paired, const SourceLoc& loc) {
  LoopBody loop;
  const std::string what = std::string(function) + " body";
  if (carry_arg < 0) {
    loop.function = trace_call(body, what, what, types);
    loop.inputs = std::move(types);
    return loop;
  }
  const auto arg = static_cast<std::size_t>(carry_arg);
  const std::vector<int> input = input_of_leaf(body);
  for (std::size_t i = 0; i < body.arg_ends[arg]; ++i) {
    if (input[i] < 0) continue;
    if (i < body.arg_begin(arg))
      ++loop.first_carry;
    else
      ++loop.carry;
  }
  // A weak initial value takes the type that the body returns, which may change the returned types
  // of other leaves; repeat until nothing changes. Each round leaves fewer weak values or higher
  // dtypes.
  for (;;) {
    loop.function = trace_call(body, what, what, types);
    const TreeDef in = body.describe_args().child(arg);
    const TreeDef result = body.describe_result();
    const TreeDef out = paired ? result.child(0) : result;
    check_structure(function, body, loop.function, arg, in, out, loc);

    std::vector<std::string> changes;
    std::vector<Type> wanted = loop.function.program->output_types();
    bool promoted = false, dtypes = true;
    const std::vector<std::string> paths = in.paths("carry");
    for (std::size_t leaf = 0, k = 0; leaf < paths.size(); ++leaf) {
      if (!loop.function.result_present[leaf]) continue;
      Type& start = types[loop.first_carry + k];
      Type& next = wanted[k++];
      const std::optional<Type> both = common_type(start, next);
      if (both && both->dtype == start.dtype && both->weak == start.weak) {
        next = start;
      } else if (both && start.weak) {
        start.dtype = both->dtype;
        start.weak = both->weak;
        promoted = true;
      } else {
        changes.push_back(paths[leaf] + ": " + carried_text(start) + " goes in, " +
                          carried_text(next) + " comes out");
        dtypes &= start.shape == next.shape;
      }
    }
    if (!changes.empty()) {
      Message m(function);
      m.problem("the body changes the type of its carry");
      for (auto& c : changes) m.offender(std::move(c));
      m.rule("what a loop carries keeps its dtypes and shapes from step to step").from(loc);
      if (dtypes)
        m.advice("use astype in the body, or start from a value of the dtype that comes out")
            .raise<DTypeError>();
      m.advice("reshape in the body, or start from a value of the shape that comes out")
          .raise<ShapeError>();
    }
    if (!promoted) {
      loop.function.program = with_output_types(loop.function.program, wanted);
      loop.inputs = std::move(types);
      return loop;
    }
  }
}

}  // namespace tessera::inline v0::detail
