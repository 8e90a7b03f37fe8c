// Scalars computed from constant scalars when the program is made.
#include "ir/builder.h"
#include "ir/host_array.h"
#include "ir/op.h"
#include "transform/simplify.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

namespace tessera::inline v0 {

namespace {

// IEEE defines these to the bit; exp and its like depend on the library that computes them.
bool exact(std::string_view op) {
  static const auto& ops = *new std::set<std::string_view>{"neg",
                                                           "abs",
                                                           "sign",
                                                           "floor",
                                                           "ceil",
                                                           "round_nearest_even",
                                                           "round_away",
                                                           "is_finite",
                                                           "not",
                                                           "sqrt",
                                                           "add",
                                                           "sub",
                                                           "mul",
                                                           "div",
                                                           "max",
                                                           "min",
                                                           "and",
                                                           "or",
                                                           "xor",
                                                           "eq",
                                                           "ne",
                                                           "lt",
                                                           "le",
                                                           "gt",
                                                           "ge",
                                                           "select",
                                                           "clamp",
                                                           "convert",
                                                           "reshape",
                                                           "transpose",
                                                           "broadcast_in_dim"};
  return ops.count(op) != 0;
}

bool is_scalar_constant(const Equation* eqn) {
  return eqn && eqn->op->name == "constant" && eqn->attrs.get<Literal>("value").shape.empty();
}

}  // namespace

ProgramPtr fold(const ProgramPtr& p) {
  auto q = std::make_shared<Program>(*p);
  std::vector<const Equation*> made_by(q->types.size());
  const Op& constant = Registry::get().at("constant");
  bool changed = false;
  for (Equation& eqn : q->equations) {
    for (Var v : eqn.outputs) made_by[v] = &eqn;
    if (eqn.outputs.size() != 1 || eqn.inputs.empty() || !exact(eqn.op->name) || !eqn.op->evaluate)
      continue;
    const Type& type = q->types[eqn.outputs[0]];
    if (!type.shape.empty() || !type.varying.empty()) continue;
    if (!std::all_of(eqn.inputs.begin(), eqn.inputs.end(),
                     [&](Var v) { return is_scalar_constant(made_by[v]); }))
      continue;
    std::vector<HostArray> in, out{HostArray(type.dtype, type.shape)};
    for (Var v : eqn.inputs) in.push_back(HostArray::from(made_by[v]->attrs.get<Literal>("value")));
    eqn.op->evaluate({eqn.attrs, in, out});
    auto bytes =
        std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size_of(type.dtype)));
    std::memcpy(bytes->data(), out[0].bytes, bytes->size());
    eqn.op = &constant;
    eqn.inputs.clear();
    eqn.attrs = {{"value", Literal{type.dtype, Shape{}, std::move(bytes)}}};
    if (type.weak) eqn.attrs.set("weak", true);
    changed = true;
  }
  return changed ? ProgramPtr(prune(*q)) : p;
}

}  // namespace tessera::inline v0
