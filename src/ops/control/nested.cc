#include "ops/control/nested.h"

#include "ir/interpret.h"
#include "ops/build.h"

#include <cstring>
#include <numeric>

namespace tessera::inline v0::ops {

void check_same(const InferArgs& a, const std::string& what, const Type& in, const Type& out) {
  if (in.dtype == out.dtype && in.shape == out.shape) return;
  Message m(a.op.name);
  m.problem(what + " is " + to_string(in) + " on one side and " + to_string(out) + " on the other")
      .rule("both sides have the same dtype and shape")
      .from(a.loc)
      .advice(in.dtype != out.dtype ? "astype on one of them"
                                    : "reshape or broadcast_to on one of them");
  if (in.dtype != out.dtype) m.raise<DTypeError>();
  m.raise<ShapeError>();
}

void check_counts(const InferArgs& a, std::initializer_list<const char*> counts) {
  auto rest = static_cast<std::int64_t>(a.inputs.size());
  for (const char* name : counts) {
    std::int64_t n = a.attrs.i(name);
    if (n < 0 || n > rest)
      throw InternalError(a.op.name + " has " + name + " = " + std::to_string(n) + " and " +
                          std::to_string(a.inputs.size()) + " operands");
    rest -= n;
  }
}

void check_inputs(const InferArgs& a, const std::string& what, const Program& program,
                  std::span<const Type> types) {
  if (program.inputs.size() != types.size())
    throw InternalError("'" + a.op.name + "': the " + what + " takes " +
                        std::to_string(program.inputs.size()) + " inputs and is given " +
                        std::to_string(types.size()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Type& inside = program.types[program.inputs[i]];
    check_same(a, "input " + std::to_string(i) + " of the " + what, types[i], inside);
    if (!(types[i].varying == inside.varying))
      throw InternalError("'" + a.op.name + "': input " + std::to_string(i) + " of the " + what +
                          " is " + to_string(inside) + " and is given " + to_string(types[i]));
  }
}

std::vector<AxisSet> vary_through(const Program& p, std::vector<AxisSet> inputs) {
  std::vector<AxisSet> env(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) env[p.inputs[i]] = std::move(inputs[i]);
  std::vector<AxisSet> in;
  for (const Equation& eqn : p.equations) {
    in.clear();
    for (Var v : eqn.inputs) in.push_back(env[v]);
    std::vector<AxisSet> out = varying_of(*eqn.op, eqn.attrs, in);
    for (std::size_t i = 0; i < eqn.outputs.size(); ++i)
      env[eqn.outputs[i]] = i < out.size() ? out[i] : out.back();
  }
  std::vector<AxisSet> result;
  for (Var v : p.outputs) result.push_back(env[v]);
  return result;
}

Cost cost_of(const Program& p) {
  Cost total;
  std::vector<Type> in, out;
  for (const Equation& eqn : p.equations) {
    if (!eqn.op->cost) continue;
    in.clear();
    out.clear();
    for (Var v : eqn.inputs) in.push_back(p.types[v]);
    for (Var v : eqn.outputs) out.push_back(p.types[v]);
    Cost c = eqn.op->cost(in, out, eqn.attrs);
    total.flops += c.flops;
    total.bytes += c.bytes;
  }
  return total;
}

std::vector<bool> depends_on(const Program& p, const std::vector<bool>& inputs) {
  std::vector<bool> marked(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) marked[p.inputs[i]] = inputs[i];
  for (const Equation& eqn : p.equations) {
    bool any = false;
    for (Var v : eqn.inputs) any = any || marked[v];
    if (any)
      for (Var v : eqn.outputs) marked[v] = true;
  }
  std::vector<bool> result;
  for (Var v : p.outputs) result.push_back(marked[v]);
  return result;
}

ProgramPtr reordered(const Program& p, std::span<const std::size_t> inputs,
                     std::span<const std::size_t> outputs) {
  if (inputs.size() != p.inputs.size()) throw InternalError("reordering must keep every input");
  auto q = std::make_shared<Program>(p);
  for (std::size_t i = 0; i < inputs.size(); ++i) q->inputs[i] = p.inputs[inputs[i]];
  q->outputs.clear();
  for (std::size_t k : outputs) q->outputs.push_back(p.outputs[k]);
  return q;
}

std::vector<std::size_t> iota_positions(std::size_t n) {
  std::vector<std::size_t> positions(n);
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return positions;
}

Op body_op(std::string name, std::string doc) {
  Op op;
  op.name = std::move(name);
  op.doc = std::move(doc);
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::expanded;
  op.infer = [](const InferArgs& a) {
    check_inputs(a, "body", *a.attrs.program("body"), a.inputs);
    return a.attrs.program("body")->output_types();
  };
  op.transpose = [](const TransposeArgs& a) {
    return transpose_inline(a.b, *a.attrs.program("body"), a.inputs,
                            {a.linear.begin(), a.linear.end()}, a.cotangents);
  };
  op.vary = [](const VaryArgs& a) {
    return vary_through(*a.attrs.program("body"), {a.inputs.begin(), a.inputs.end()});
  };
  op.flow = [](const Attrs& attrs) { return Flow{.programs = {attrs.program("body")}}; };
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs& attrs) {
    return cost_of(*attrs.program("body"));
  };
  op.evaluate = [](const EvalArgs& a) {
    std::vector<HostArray> out = evaluate(*a.attrs.program("body"), a.inputs);
    for (std::size_t i = 0; i < out.size(); ++i)
      std::memcpy(a.outputs[i].bytes, out[i].bytes, static_cast<std::size_t>(out[i].size_bytes()));
  };
  op.waived = {{"sharding", "inlined before partitioning"},
               {"emit", "inlined before code generation"},
               {"stablehlo", "inlined before export"}};
  return op;
}

}  // namespace tessera::inline v0::ops
