// Shared by reductions by a body.
#include "ir/interpret.h"
#include "ops/batching.h"
#include "ops/reduction/general.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::ops {

JvpBoth jvp_spelled(const JvpBothArgs& a,
                    const std::function<Values(Builder&, std::span<const Value>)>& spelled) {
  JvpBoth out;
  out.outputs = a.b.emit(a.op, a.inputs, a.attrs);
  out.tangents.resize(out.outputs.size());
  if (std::none_of(a.tangents.begin(), a.tangents.end(),
                   [](const MaybeValue& t) { return t.has_value(); }))
    return out;
  Builder b(a.op.name);
  Values in;
  for (Value x : a.inputs) in.push_back(b.input(x.type()));
  const Values results = spelled(b, in);
  out.tangents = jvp_inline(a.b, *b.finish(results), a.inputs, a.tangents).tangents;
  return out;
}

void spell(Op& op, Spelling spelling) {
  op.jvp_both = [spelling](const JvpBothArgs& a) {
    return jvp_spelled(
        a, [&](Builder& b, std::span<const Value> in) { return spelling(b, in, a.attrs); });
  };
  op.decompose = [spelling](const DecomposeArgs& a) -> std::optional<Values> {
    if (composes(*inlined_body(a.attrs.program("body")))) return std::nullopt;
    return spelling(a.b, a.inputs, a.attrs);
  };
}

Cost body_cost(double times, std::span<const Type> in, std::span<const Type> out,
               const Attrs& attrs) {
  Cost c;
  c.flops = times * static_cast<double>(attrs.program("body")->equations.size());
  for (const Type& t : in) c.bytes += static_cast<double>(t.bytes());
  for (const Type& t : out) c.bytes += static_cast<double>(t.bytes());
  return c;
}

void factors_of_reduced(FactorRule& rule, const ShardArgs& a, const std::vector<int>& in,
                        const std::vector<int>& out) {
  const std::size_t n = a.inputs.size() / 2;
  for (std::size_t i = 0; i < n; ++i) rule.input(in);
  for (std::size_t i = 0; i < n; ++i)
    rule.input(a.inputs[n + i].shape.rank() == 0 ? std::vector<int>{} : out);
  for (std::size_t i = 0; i < n; ++i) rule.output(out);
}

void evaluate_folds(const EvalArgs& a,
                    FunctionRef<void(const Shape& at, FunctionRef<void(std::int64_t)> take)> each) {
  const Program& body = *a.attrs.program("body");
  const std::size_t n = a.outputs.size();
  std::int64_t at = 0;
  for_each_index(a.outputs[0].shape, [&](const Shape& o) {
    std::vector<HostArray> acc;
    for (std::size_t i = 0; i < n; ++i)
      acc.push_back(element_of(a.inputs[n + i], a.inputs[n + i].shape.rank() == 0 ? 0 : at));
    each(o, [&](std::int64_t flat) {
      for (std::size_t i = 0; i < n; ++i) acc.push_back(element_of(a.inputs[i], flat));
      acc = evaluate_body(body, acc);
    });
    for (std::size_t i = 0; i < n; ++i)
      std::memcpy(element_of(a.outputs[i], at).bytes, acc[i].bytes,
                  static_cast<std::size_t>(size_of(acc[i].dtype)));
    ++at;
  });
}

std::vector<Lane> initial_lanes(Emitter& e, int n, std::span<const Index> at) {
  std::vector<Lane> init;
  for (int i = n; i < 2 * n; ++i)
    init.push_back(
        e.operand(i, e.operand_type(i).shape.rank() == 0 ? std::span<const Index>() : at));
  return init;
}

std::vector<Type> infer_reduced(const InferArgs& a,
                                const std::function<Shape(const Type&)>& shape_of_result) {
  const std::size_t n = a.inputs.size() / 2;
  Message message(a.op.name);
  bool fits = n > 0 && a.inputs.size() % 2 == 0;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const bool init = i >= n;
    fits = fits && (init ? a.inputs[i].dtype == a.inputs[i - n].dtype
                         : a.inputs[i].shape == a.inputs[0].shape);
    message.offender((init ? "init " + std::to_string(i - n) : "operand " + std::to_string(i)) +
                     ": " + to_string(Type(a.inputs[i].dtype, a.inputs[i].shape)));
  }
  Shape result;
  if (fits) {
    result = shape_of_result(a.inputs[0]);
    for (const Type& init : a.inputs.subspan(n))
      fits = fits && (init.shape.rank() == 0 || init.shape == result);
  }
  if (!fits)
    message.problem("the operands and their inits do not fit together")
        .rule("operands of one shape, and for each an init of its dtype, a scalar")
        .from(a.loc)
        .advice("broadcast the operands to one shape, and give one scalar for each")
        .raise<ShapeError>();
  std::vector<DType> elements, both;
  for (const Type& t : a.inputs.first(n)) elements.push_back(t.dtype);
  both = elements;
  both.insert(both.end(), elements.begin(), elements.end());
  check_body(a, *a.attrs.program("body"), both, elements, "it combines accumulators with elements");
  std::vector<Type> out;
  for (std::size_t i = 0; i < n; ++i)
    out.emplace_back(a.inputs[i].dtype, result, a.inputs[i].weak && a.inputs[n + i].weak);
  return out;
}

Values stacked_operands(const BatchArgs& a, const Shape& result) {
  const std::size_t n = a.inputs.size() / 2;
  Values in;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const Value x = a.inputs[i];
    const bool batched = a.dims[i] != kUnbatched;
    if (i >= n && !batched && x.rank() == 0) {
      in.push_back(x);
    } else if (i >= n && batched && x.rank() == 1) {
      Shape full = result;
      full.insert(full.begin(), a.size);
      in.push_back(broadcast_in_dim(x, full, {0}));
    } else {
      in.push_back(stacked_at(x, a.dims[i], 0, a.size));
    }
  }
  return in;
}

ProgramPtr example_body(const std::string& which, DType dtype) {
  Builder b(which);
  Value x = b.input(Type(dtype, {}));
  if (which == "affine") {
    Value y = b.input(Type(dtype, {}));
    return b.finish(Values{add(mul(x, y), add(x, y))});
  }
  Value i = b.input(Type(DType::int32, {})), y = b.input(Type(dtype, {})),
        j = b.input(Type(DType::int32, {}));
  Value keep = or_(gt(x, y), and_(eq(x, y), le(i, j)));
  return b.finish(Values{select(keep, x, y), select(keep, i, j)});
}

}  // namespace tessera::inline v0::ops
