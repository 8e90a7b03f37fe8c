#include <tessera/control_flow.h>

#include "api/trace/body.h"
#include "api/trace/differentiate.h"
#include "ops/build.h"

#include <algorithm>

namespace tessera::inline v0::detail {
namespace {

std::string branch_name(bool predicate, std::size_t i) {
  if (predicate) return i == 1 ? "if true" : "if false";
  return "in branch " + std::to_string(i);
}

/// The common types of the results of all branches. If there are none, throws an error that lists
/// the leaves.
std::vector<Type> agreed_types(const char* function, bool predicate,
                               const std::vector<TracedFunction>& all, const TreeDef& result,
                               const SourceLoc& loc) {
  std::vector<Type> types = all[0].program->output_types();
  Message m(function);
  bool bad = false;
  const std::vector<std::string> paths = result.paths("result");
  for (std::size_t leaf = 0, out = 0; leaf < paths.size(); ++leaf) {
    const bool present = all[0].result_present[leaf];
    bool agree = true;
    for (const TracedFunction& f : all) {
      if (f.result_present[leaf] != present) agree = false;
      if (!agree || !present) continue;
      const std::optional<Type> both =
          common_type(types[out], f.program->type(f.program->outputs[out]));
      if (both)
        types[out] = *both;
      else
        agree = false;
    }
    if (!agree) {
      std::string text = paths[leaf] + ":";
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t k = predicate ? all.size() - 1 - i : i;  // the true branch comes first
        std::size_t at = 0;
        for (std::size_t j = 0; j < leaf; ++j) at += all[k].result_present[j];
        text += (i ? ", " : " ") +
                (all[k].result_present[leaf]
                     ? visible_text(all[k].program->type(all[k].program->outputs[at]))
                     : "empty") +
                ' ' + branch_name(predicate, k);
      }
      m.offender(std::move(text));
      bad = true;
    }
    out += present;
  }
  if (bad)
    m.problem("the branches' results differ in type")
        .rule("all branches give the same dtypes and shapes")
        .from(loc)
        .advice("use astype, reshape or broadcast_to in one of them")
        .raise<TreeError>();
  return types;
}

/// Converts the index to an int32 scalar.
Value branch_index(const char* function, Value index, bool predicate, std::size_t branches,
                   const SourceLoc& loc) {
  const Type& t = index.type();
  const bool right_kind = predicate || is_integer(t.dtype);
  if (t.shape.rank() != 0 || !right_kind) {
    Message m(function);
    m.problem(std::string(predicate ? "the predicate" : "the index") + " is " + visible_text(t))
        .rule(predicate ? "one scalar decides which branch runs"
                        : "the index is one integer scalar")
        .from(loc);
    if (t.shape.rank() != 0)
      m.advice(
           predicate
               ? "use ts::where to choose element by element, or ts::any and ts::all for one answer"
               : "pass one element of it, or map the function with ts::vmap")
          .raise<ShapeError>();
    m.advice("convert it with astype(ts::i32)").raise<DTypeError>();
  }
  if (!predicate) {
    // Clamp in the index's own dtype, so that a large index does not wrap.
    if (size_of(t.dtype) >= 4 && t.dtype != DType::int32)
      index = ops::clamp(ops::full_like(index, 0), index,
                         ops::full_like(index, static_cast<double>(branches - 1)));
    return t.dtype == DType::int32 ? index : ops::convert(index, DType::int32);
  }
  if (t.dtype != DType::boolean) index = ops::ne(index, ops::full_like(index, 0));
  return ops::convert(index, DType::int32);
}

}  // namespace

Outcome branches(const char* function, const Array& index, bool predicate,
                 std::span<Call* const> calls, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const InFunction called(function, loc);
  if (!index.is_empty()) check_usable(*index.impl(), function, loc);
  check_arguments(*calls[0], function, loc);
  std::vector<TracedFunction> all;
  TreeDef result;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i]->args.leaves.size() != calls[0]->args.leaves.size())
      throw InternalError("the branches of one cond have one list of operands");
    all.push_back(trace_call(*calls[i], std::string(function) + " branch", function));
    const TreeDef mine = calls[i]->describe_result();
    if (i == 0) {
      result = mine;
    } else if (!(mine == result)) {
      require_same_structure(function, result, "the result " + branch_name(predicate, 0), mine,
                             "that " + branch_name(predicate, i), loc);
    }
  }
  const std::vector<Type> types = agreed_types(function, predicate, all, result, loc);

  // All branches take the same operands: the explicit ones, then every capture once.
  std::vector<Array> captured;
  auto place = [&](const Array& a) {
    const auto at = std::find_if(captured.begin(), captured.end(),
                                 [&](const Array& c) { return c.impl() == a.impl(); });
    if (at == captured.end()) captured.push_back(a);
    return static_cast<std::size_t>(at - captured.begin());
  };
  for (const TracedFunction& f : all)
    for (const Array& a : f.captures) place(a);
  const std::vector<Type> leaves = leaf_types(*calls[0]);
  Programs programs;
  for (const TracedFunction& f : all) {
    Builder b(function);
    Values in, mine;
    for (const Type& t : leaves) in.push_back(b.input(t));
    for (const Array& a : captured) in.push_back(b.input(a.impl()->type));
    for (std::size_t i = 0; i < leaves.size(); ++i) mine.push_back(in[i]);
    for (const Array& a : f.captures) mine.push_back(in[leaves.size() + place(a)]);
    programs.push_back(b.finish(b.inline_program(*with_output_types(f.program, types), mine)));
  }

  Builder b(function);
  b.loc = loc;
  std::vector<Array> operand_arrays{index};
  for (const Array* x : calls[0]->args.leaves)
    if (!x->is_empty()) operand_arrays.push_back(*x);
  operand_arrays.insert(operand_arrays.end(), captured.begin(), captured.end());
  Values in;
  for (const Array& a : operand_arrays) in.push_back(b.input(need(a, function, loc).type));
  const Value chosen = branch_index(function, in[0], predicate, calls.size(), loc);
  const Values out = ops::cond(chosen, programs, std::span<const Value>(in).subspan(1));
  return outcome(all[0], apply(b.finish(out), operand_arrays, loc));
}

}  // namespace tessera::inline v0::detail
