// The place of an extremum as two reductions, which kernels compute in vectors and in parts.
#include "ir/op.h"
#include "ops/build.h"
#include "transform/at_equation.h"
#include "transform/simplify.h"

namespace tessera::inline v0 {

namespace {

bool searched(const Program& p, const Equation& eqn) {
  if (eqn.op->name != "argmax" && eqn.op->name != "argmin") return false;
  // Few elements are searched as quickly one after the other.
  constexpr std::int64_t kWorth = 64;
  const Type& x = p.type(eqn.inputs[0]);
  return x.dtype != DType::boolean && x.shape.count() > 0 &&
         x.shape[static_cast<std::size_t>(eqn.attrs.i("axis"))] >= kWorth;
}

// The least index of an element that equals the extremum, or is NaN: there is a NaN only where the
// extremum is one, and then nothing equals it.
Value first_place(Value x, const Equation& eqn) {
  auto axis = static_cast<int>(eqn.attrs.i("axis"));
  bool max = eqn.op->name == "argmax";
  std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  Value best = max ? ops::reduce_max(x, {axis}) : ops::reduce_min(x, {axis});
  Ints kept;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) kept.push_back(i);
  Value found = ops::eq(x, ops::broadcast_in_dim(best, x.shape(), kept));
  if (is_floating(x.dtype())) found = ops::or_(found, ops::ne(x, x));
  DType index = extent > 0x7fffffff ? DType::int64 : DType::int32;
  Value place = ops::iota(*x.builder, index, x.shape(), axis);
  Value least = ops::reduce_min(
      ops::select(found, place, ops::full_like(place, static_cast<double>(extent))), {axis});
  return ops::convert(least, eqn.attrs.dtype("dtype"));
}

}  // namespace

ProgramPtr split_arg_extremum(const ProgramPtr& p) {
  bool any = false;
  for (const Equation& eqn : p->equations) any = any || searched(*p, eqn);
  if (!any) return p;
  Builder b(p->name);
  Values env(p->types.size());
  for (Var v : p->inputs) env[v] = b.input(p->types[v]);
  for (const Equation& eqn : p->equations) {
    AtEquation at(b, eqn);
    Values in;
    for (Var v : eqn.inputs) in.push_back(env[v]);
    if (searched(*p, eqn)) {
      env[eqn.outputs[0]] = first_place(in[0], eqn);
      continue;
    }
    Values out = b.emit(*eqn.op, in, eqn.attrs);
    for (std::size_t i = 0; i < out.size(); ++i) env[eqn.outputs[i]] = out[i];
  }
  Values outputs;
  for (Var v : p->outputs) outputs.push_back(env[v]);
  return b.finish(outputs);
}

}  // namespace tessera::inline v0
