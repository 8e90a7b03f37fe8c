// Vectorisation (vmap): each equation with a stacked input is replaced by its op's batched form;
// the others are copied once.
#include "ir/collective_attrs.h"
#include "ir/interpret.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ops/batching.h"
#include "transform/at_equation.h"

#include <algorithm>
#include <unordered_map>

namespace tessera::inline v0 {

namespace {

// Finds collectives over `axis` in an equation, at any nesting depth: such an equation must be
// batched even if no operand is stacked.
class AxisUses {
 public:
  explicit AxisUses(const std::string& axis) : axis_(axis) {}

  bool in(const Equation& eqn) {
    if (axis_.empty()) return false;
    if (const auto among = CollectiveAttrs::find(eqn.attrs))
      if (std::ranges::find(among->axes, axis_) != among->axes.end()) return true;
    return !hides(eqn, axis_) && any_nested(eqn.attrs, [&](const ProgramPtr& q) { return in(*q); });
  }

 private:
  bool in(const Program& p) {
    auto [entry, fresh] = seen_.try_emplace(&p, false);
    if (!fresh) return entry->second;
    for (const Equation& eqn : p.equations)
      if (in(eqn)) return seen_[&p] = true;
    return false;
  }
  const std::string& axis_;
  std::unordered_map<const Program*, bool> seen_;
};

}  // namespace

BatchResult batch_inline(Builder& b, const Program& p, std::span<const Value> inputs,
                         std::span<const int> dims, std::int64_t size,
                         const std::string& axis_name) {
  Values value(p.types.size());
  std::vector<int> dim(p.types.size(), kUnbatched);
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    value[p.inputs[i]] = inputs[i];
    dim[p.inputs[i]] = dims[i];
  }
  AxisUses axis_uses(axis_name);
  Values in;
  std::vector<int> in_dims;
  for (const Equation& eqn : p.equations) {
    in.clear();
    in_dims.clear();
    bool stacked = false;
    for (Var v : eqn.inputs) {
      in.push_back(value[v]);
      in_dims.push_back(dim[v]);
      stacked = stacked || dim[v] != kUnbatched;
    }
    AtEquation at(b, eqn);
    if (!stacked && !axis_uses.in(eqn)) {
      Values out = b.emit(*eqn.op, in, eqn.attrs);
      for (std::size_t i = 0; i < out.size(); ++i) value[eqn.outputs[i]] = out[i];
      continue;
    }
    if (!eqn.op->batch)
      Message("vmap")
          .problem("'" + eqn.op->name + "' cannot be mapped")
          .rule("each operation on a mapped value needs a batched form")
          .from(eqn.loc)
          .advice("computing it outside the mapped function, or mapping with scan")
          .raise<TraceError>();
    BatchResult r = eqn.op->batch({b, *eqn.op, eqn.attrs, in, in_dims, size, axis_name});
    for (std::size_t i = 0; i < eqn.outputs.size(); ++i) {
      value[eqn.outputs[i]] = r.outputs.at(i);
      dim[eqn.outputs[i]] = r.dims.at(i);
    }
  }
  BatchResult result;
  for (Var v : p.outputs) {
    result.outputs.push_back(value[v]);
    result.dims.push_back(dim[v]);
  }
  return result;
}

BatchProgram batch_program(const Program& p, const std::vector<int>& dims, std::int64_t size,
                           const std::string& axis_name, const std::vector<bool>& force_batched) {
  Builder b(p.name);
  Values inputs;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    Type type = p.types[p.inputs[i]];
    if (dims[i] != kUnbatched) type.shape.insert(type.shape.begin() + dims[i], size);
    inputs.push_back(b.input(std::move(type)));
  }
  BatchResult r = batch_inline(b, p, inputs, dims, size, axis_name);
  BatchProgram result;
  for (std::size_t i = 0; i < r.outputs.size(); ++i) {
    bool stacked = r.dims[i] != kUnbatched || (!force_batched.empty() && force_batched[i]);
    if (stacked) r.outputs[i] = ops::stacked_at(r.outputs[i], r.dims[i], 0, size);
    result.batched_out.push_back(stacked);
  }
  result.program = b.finish_pruned(r.outputs);
  return result;
}

}  // namespace tessera::inline v0
