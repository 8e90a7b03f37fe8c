#include "ops/body.h"

#include "ir/interpret.h"
#include "ir/nested.h"
#include "ops/build.h"

#include <algorithm>
#include <optional>

namespace tessera::inline v0::ops {

namespace {

std::string list(std::span<const DType> dtypes) {
  std::string s = "(";
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    s += (i ? ", " : "") + std::string(name_of(dtypes[i]));
  return s + ")";
}
std::string list(std::span<const Type> types) {
  std::string s = "(";
  for (std::size_t i = 0; i < types.size(); ++i)
    s += (i ? ", " : "") + to_string(Type(types[i].dtype, types[i].shape));
  return s + ")";
}
bool are_scalars(std::span<const Type> types, std::span<const DType> dtypes) {
  return std::equal(types.begin(), types.end(), dtypes.begin(), dtypes.end(),
                    [](const Type& t, DType d) { return t.dtype == d && t.shape.rank() == 0; });
}

/// The Emitter that an equation of a body sees: operands are scalars that are already emitted, and
/// everything else is forwarded to the kernel around the body.
class BodyEmitter final : public Emitter {
 public:
  BodyEmitter(Emitter& around, const Program& p, std::span<const Lane> in)
      : around_(around), program_(p), lanes_(p.types.size()) {
    for (std::size_t i = 0; i < in.size(); ++i) lanes_[p.inputs[i]] = in[i];
    for (const Equation& eqn : p.equations) {
      eqn_ = &eqn;
      for (std::size_t k = 0; k < eqn.outputs.size(); ++k) {
        result_ = k;
        lanes_[eqn.outputs[k]] = eqn.op->emit ? eqn.op->emit(*this, eqn, static_cast<int>(k), {})
                                              : operand(0, std::span<const Index>());
      }
    }
  }
  std::vector<Lane> results() const {
    std::vector<Lane> out;
    for (Var v : program_.outputs) out.push_back(lanes_[v]);
    return out;
  }

  const Type& operand_type(int i) const override {
    return program_.type(eqn_->inputs[static_cast<std::size_t>(i)]);
  }
  const Type& result_type() const override { return program_.type(eqn_->outputs[result_]); }
  using Emitter::operand;
  Lane operand(int i, std::span<const Index>) override {
    return lanes_[eqn_->inputs[static_cast<std::size_t>(i)]];
  }
  Lane constant(DType d, double v) override { return around_.constant(d, v); }
  Lane constant(DType d, std::int64_t v) override { return around_.constant(d, v); }
  Lane literal(const Literal& l, std::span<const Index> at) override {
    return around_.literal(l, at);
  }
  Lane number(const Index& i, DType d) override { return around_.number(i, d); }
  Index index(const Lane& n, std::int64_t lo, std::int64_t hi) override {
    return around_.index(n, lo, hi);
  }
  Lane unary(Arith op, Lane x) override { return around_.unary(op, x); }
  Lane binary(Arith op, Lane x, Lane y) override { return around_.binary(op, x, y); }
  Lane select(Lane c, Lane x, Lane y) override { return around_.select(c, x, y); }
  Lane convert(Lane x, DType to) override { return around_.convert(x, to); }
  Lane bitcast(Lane x, DType to) override { return around_.bitcast(x, to); }
  Lane guarded(std::span<const Bound> bounds, const std::function<Lane()>& inside,
               Lane outside) override {
    return around_.guarded(bounds, inside, outside);
  }
  Lane reduce(std::span<const std::int64_t> extents, Lane init,
              const std::function<Lane(std::span<const Index>)>& element,
              const std::function<Lane(Lane, Lane)>& combine) override {
    return around_.reduce(extents, init, element, combine);
  }
  std::vector<Lane> fold(
      std::span<const std::int64_t> extents, std::vector<Lane> init,
      const std::function<std::vector<Lane>(std::span<const Index>, std::span<const Lane>)>& step)
      override {
    return around_.fold(extents, std::move(init), step);
  }

 private:
  Emitter& around_;
  const Program& program_;
  std::vector<Lane> lanes_;
  const Equation* eqn_ = nullptr;
  std::size_t result_ = 0;
};

}  // namespace

void check_body(const InferArgs& a, const Program& body, std::span<const DType> in,
                std::span<const DType> out, const std::string& what) {
  const std::vector<Type> takes = body.input_types(), gives = body.output_types();
  if (are_scalars(takes, in) && are_scalars(gives, out)) return;
  Message(a.op.name)
      .problem("the function takes " + list(takes) + " and gives " + list(gives))
      .rule(what + ": it takes scalars " + list(in) + " and gives scalars " + list(out))
      .from(a.loc)
      .advice("write it for single elements, and convert its results with astype")
      .raise<DTypeError>();
}

std::vector<AxisSet> vary_as_operands(const VaryArgs& a) {
  AxisSet all;
  for (const AxisSet& axes : a.inputs) all |= axes;
  return {all};
}

ProgramPtr inlined_body(const ProgramPtr& body) {
  auto is_call = [](const Equation& e) { return e.op->lowering == Lowering::expanded; };
  if (std::none_of(body->equations.begin(), body->equations.end(), is_call)) return body;
  Builder b(body->name);
  Values inputs;
  for (const Type& t : body->input_types()) inputs.push_back(b.input(t));
  std::vector<Value> env(body->types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) env[body->inputs[i]] = inputs[i];
  for (const Equation& e : body->equations) {
    Values in;
    for (Var v : e.inputs) in.push_back(env[v]);
    const Values out =
        is_call(e) ? b.inline_program(*inlined_body(expansion(e)), in) : b.copy(e, in);
    for (std::size_t k = 0; k < out.size(); ++k) env[e.outputs[k]] = out[k];
  }
  Values outputs;
  for (Var v : body->outputs) outputs.push_back(env[v]);
  return b.finish(outputs);
}

bool composes(const Program& body) {
  return std::all_of(body.types.begin(), body.types.end(),
                     [](const Type& t) { return t.shape.rank() == 0; }) &&
         std::all_of(body.equations.begin(), body.equations.end(), [](const Equation& e) {
           return (e.op->lowering == Lowering::emitted && e.op->emit) ||
                  e.op->lowering == Lowering::view;
         });
}

std::vector<Lane> emit_body(Emitter& e, const Program& body, std::span<const Lane> in) {
  return BodyEmitter(e, body, in).results();
}

Values map_body(Builder& b, const Program& body, std::span<const Value> arrays) {
  const Shape shape = arrays[0].shape();
  const std::int64_t n = shape.count();
  Values rows;
  for (Value x : arrays) rows.push_back(reshape(x, Shape{n}));
  const BatchResult mapped = batch_inline(b, body, rows, std::vector<int>(rows.size(), 0), n, "");
  Values out;
  for (std::size_t i = 0; i < mapped.outputs.size(); ++i)
    out.push_back(mapped.dims[i] == kUnbatched ? broadcast_in_dim(mapped.outputs[i], shape, {})
                                               : reshape(mapped.outputs[i], shape));
  return out;
}

std::vector<HostArray> evaluate_body(const Program& body, std::span<const HostArray> in) {
  return evaluate(body, in);
}

HostArray element_of(const HostArray& x, std::int64_t flat) {
  HostArray element(x.dtype, Shape{}, x.bytes + flat * size_of(x.dtype));
  element.owner = x.owner;
  return element;
}

}  // namespace tessera::inline v0::ops
