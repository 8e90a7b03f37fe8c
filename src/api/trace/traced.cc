#include "api/trace/traced.h"

#include "api/trace/numbers.h"

namespace tessera::inline v0::detail {

std::vector<Type> leaf_types(const Call& call) {
  std::vector<Type> types;
  types.reserve(call.args.leaves.size());
  for (const Array* x : call.args.leaves)
    if (!x->is_empty()) types.push_back(x->impl()->type);
  return types;
}

std::vector<std::size_t> present_leaves(const Call& call) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < call.args.leaves.size(); ++i)
    if (!call.args.leaves[i]->is_empty()) out.push_back(i);
  return out;
}

TracedFunction trace_call(Call& call, const std::string& what, const std::string& name,
                          std::span<const Type> types) {
  Trace trace(what, name);
  std::vector<Array> leaves;
  leaves.reserve(call.args.leaves.size());
  std::size_t next = 0;
  for (const Array* x : call.args.leaves) {
    if (x->is_empty())
      leaves.emplace_back();
    else
      leaves.push_back(trace.input(types[next++], x->impl()->loc));
  }
  std::vector<Array> results = call.invoke(leaves);
  leaves.clear();

  TracedFunction f;
  std::vector<Array> outputs;
  for (Array& r : results) {
    f.result_present.push_back(!r.is_empty());
    if (!r.is_empty()) outputs.push_back(std::move(r));
  }
  Trace::Finished finished = trace.finish(outputs);
  f.program = std::move(finished.program);
  f.captures = std::move(finished.captures);
  f.bounds = std::move(finished.bounds);
  check_bounds(call, f);
  f.prototype = call.prototype;
  return f;
}

void check_bounds(const Call& call, const TracedFunction& f) {
  if (f.bounds.empty()) return;
  const std::vector<std::size_t> leaves = present_leaves(call);
  for (const NumberBound& b : f.bounds)
    check_fits(b.function, Operand(*call.args.leaves[leaves[b.input]], b.loc), b.dtype);
}

void check_arguments(const Call& call, const std::string& function, const SourceLoc& loc) {
  for (std::size_t i = 0; i < call.args.leaves.size(); ++i) {
    const Array& x = *call.args.leaves[i];
    if (x.is_empty() || x.is_concrete() || (x.is_traced() && Trace::find(x.impl()->trace)))
      continue;
    check_usable(*x.impl(), function.c_str(), loc, leaf_path(call, i));
  }
}

std::vector<Array> operands(const Call& call, const TracedFunction& f, const std::string& function,
                            const SourceLoc& loc) {
  check_arguments(call, function, loc);
  std::vector<Array> out;
  out.reserve(f.program->inputs.size());
  for (const Array* x : call.args.leaves)
    if (!x->is_empty()) out.push_back(*x);
  out.insert(out.end(), f.captures.begin(), f.captures.end());
  return out;
}

std::vector<Array> spread(std::vector<Array> arrays, const std::vector<bool>& present) {
  if (arrays.size() == present.size()) return arrays;
  std::vector<Array> out(present.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < present.size(); ++i)
    if (present[i]) out[i] = std::move(arrays[next++]);
  return out;
}

Outcome outcome(const TracedFunction& f, std::vector<Array> results) {
  return {spread(std::move(results), f.result_present), f.prototype};
}

std::string leaf_path(const Call& call, std::size_t leaf) {
  return call.describe_args().paths("args").at(leaf);
}

}  // namespace tessera::inline v0::detail
