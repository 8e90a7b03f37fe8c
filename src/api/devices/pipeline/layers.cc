#include "api/devices/pipeline/frame.h"

#include <tessera/control_flow.h>

namespace tessera::inline v0::detail {

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
  auto next = [this](Leaves x, Leaves p) { return std::pair(layer(p, x), Leaves()); };
  return scan(next, activation, params).first;
}

Leaves PipelineLayers::layer(const Leaves& params, const Leaves& activation) const {
  Leaves all(call_.args.leaves.size());
  std::size_t param = 0, part = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!call_.args.leaves[i]->is_empty())
      all[i] = i < call_.arg_ends[0] ? params[param++] : activation[part++];
  std::vector<Array> given;
  {
    const InUserCode user;
    given = call_.invoke(all);
  }
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

}  // namespace tessera::inline v0::detail
