// Constant folding of scalars.
#include "ir/builder.h"
#include "ir/host_array.h"
#include "ir/op.h"
#include "transform/simplify.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0 {

namespace {

// The scalar constant that an equation defines, or nullptr.
const Literal* scalar_of(const Equation* eqn) {
  const Literal* literal = eqn && eqn->op->literal ? eqn->op->literal(eqn->attrs) : nullptr;
  return literal && literal->shape.empty() ? literal : nullptr;
}

}  // namespace

ProgramPtr fold(const ProgramPtr& p) {
  auto q = std::make_shared<Program>(*p);
  std::vector<const Equation*> made_by(q->types.size());
  const Op& constant = Registry::get().at("constant");
  bool changed = false;
  for (Equation& eqn : q->equations) {
    for (Var v : eqn.outputs) made_by[v] = &eqn;
    if (eqn.outputs.size() != 1 || eqn.inputs.empty() || !eqn.op->exact || !eqn.op->evaluate)
      continue;
    const Type& type = q->types[eqn.outputs[0]];
    if (!type.shape.empty() || !type.varying.empty()) continue;
    if (!std::all_of(eqn.inputs.begin(), eqn.inputs.end(),
                     [&](Var v) { return scalar_of(made_by[v]) != nullptr; }))
      continue;
    std::vector<HostArray> in, out{HostArray(type.dtype, type.shape)};
    for (Var v : eqn.inputs) in.push_back(HostArray::from(*scalar_of(made_by[v])));
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
