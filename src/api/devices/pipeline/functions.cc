#include "api/devices/pipeline/functions.h"

#include "api/devices/pipeline/frame.h"

#include <tessera/control_flow.h>

namespace tessera::inline v0::detail {

namespace {

/// Calls the function with these leaves as its arguments.
std::vector<Array> invoke(Call& call, std::span<const Leaves* const> arguments,
                          std::vector<Array>& all) {
  all.assign(call.args.leaves.size(), Array());
  for (std::size_t argument = 0, i = 0; argument < arguments.size(); ++argument) {
    std::size_t next = 0;
    for (; i < call.arg_ends[argument]; ++i)
      if (!call.args.leaves[i]->is_empty()) all[i] = (*arguments[argument])[next++];
  }
  const InUserCode user;
  return call.invoke(all);
}

}  // namespace

Leaves PipelineLayers::unstacked(const Leaves& params) const {
  if (count_ != 1) return params;
  Leaves only;
  for (const Array& p : params) only.push_back(p[0]);
  return only;
}

Leaves PipelineLayers::stacked(const Leaves& params) const {
  if (count_ != 1) return params;
  Leaves out;
  for (const Array& p : params) out.push_back(p(newaxis));
  return out;
}

Leaves PipelineLayers::operator()(const Leaves& params, const Leaves& activation) const {
  if (count_ == 1) return layer(params, activation);
  auto next = [this](const Leaves& x, const Leaves& p) { return std::pair(layer(p, x), Leaves()); };
  return scan(next, activation, params).first;
}

Leaves PipelineLayers::layer(const Leaves& params, const Leaves& activation) const {
  std::vector<Array> all;
  const Leaves* arguments[] = {&params, &activation};
  std::vector<Array> given = invoke(call_, arguments, all);
  const TreeDef in = call_.describe_args().child(1), out = call_.describe_result();
  require_same_structure(function_, in, "the activation", out, "the layer's result", loc_);
  const std::vector<std::string> paths = in.paths("activation");
  Message m(function_);
  bool changed = false, structure = false, dtype = false;
  Leaves result;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Array& x = all[call_.arg_begin(1) + i];
    Array& y = given[i];
    if (x.is_empty() && y.is_empty()) continue;
    const bool one_empty = x.is_empty() || y.is_empty();
    if (!one_empty && x.shape() == y.shape() && (x.dtype() == y.dtype() || y.weak_type())) {
      result.push_back(y.weak_type() ? y.astype(x.dtype()) : y);
      continue;
    }
    const auto text = [](const Array& a) { return a.is_empty() ? "an empty array" : type_text(a); };
    m.offender(paths[i] + ": " + text(x) + " goes in, " + text(y) + " comes out");
    changed = true;
    structure |= one_empty;
    dtype |= !one_empty && x.dtype() != y.dtype();
  }
  if (!changed) return result;
  m.problem("a layer changes the type of its activation")
      .rule("what comes out of a layer goes into the next one: structure, dtypes and shapes stay")
      .from(loc_);
  if (structure) m.advice("return all parts that went in").raise<TreeError>();
  if (dtype) m.advice("use astype in the layer").raise<DTypeError>();
  m.advice("keep what changes shapes (embeddings, heads) outside of the pipeline, or in the loss")
      .raise<ShapeError>();
}

Array PipelineLoss::operator()(const Leaves& activation, const Leaves& targets,
                               const Leaves& head) const {
  std::vector<Array> all;
  const Leaves* arguments[] = {&activation, &targets, &head};
  Array loss = invoke(call_, std::span(arguments).first(call_.arg_count()), all).at(0);
  if (!loss.is_empty() && loss.ndim() == 0 && is_floating(loss.dtype())) return loss;
  Message m(function_);
  m.problem(loss.is_empty() ? "the loss of a microbatch is an empty array"
                            : "the loss of a microbatch is " + type_text(loss))
      .rule("it must be a single floating-point number, of shape ()")
      .from(loc_)
      .advice("reduce it with ts::mean; the mean over the microbatches is taken here");
  if (loss.is_empty() || loss.ndim() == 0) m.raise<DTypeError>();
  m.raise<ShapeError>();
}

}  // namespace tessera::inline v0::detail
