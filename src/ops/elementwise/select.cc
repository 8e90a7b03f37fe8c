// select and clamp.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"
#include "ops/updates.h"

#include <cmath>
#include <cstring>

namespace tessera::inline v0::ops {

Value select(Value condition, Value on_true, Value on_false) {
  return condition.builder->emit1("select", {condition, on_true, on_false});
}
Value clamp(Value lo, Value x, Value hi) { return x.builder->emit1("clamp", {lo, x, hi}); }

namespace {

std::vector<Type> select_infer(const InferArgs& a) {
  if (a.inputs[0].dtype != DType::boolean)
    Message(a.op.name)
        .problem("the condition has dtype " + std::string(name_of(a.inputs[0].dtype)))
        .rule("the condition is boolean")
        .from(a.loc)
        .advice("compare first, as in x != 0")
        .raise<DTypeError>();
  check_dtypes(a, a.inputs.subspan(1), Accepts::any);
  common_shape(a, a.inputs, DType::boolean);
  return {common_shape(a, a.inputs.subspan(1), a.inputs[1].dtype)};
}

Op make_select() {
  Op op = elementwise_op("select", "select",
                         "`on_true` where the condition is true, `on_false` elsewhere. Operands: "
                         "condition, on_true, on_false.",
                         3, Accepts::any);
  op.exact = true;
  op.selects = true;
  op.infer = select_infer;
  op.updates = updates_of({1, 2});
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    const MaybeValue &t = a.tangents[1], &f = a.tangents[2];
    if (!t && !f) return {std::nullopt};
    Value zero = like(t ? *t : *f, 0);
    return {select(a.inputs[0], t.value_or(zero), f.value_or(zero))};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    MaybeValues cts(3);
    if (!a.cotangents[0]) return cts;
    Value ct = *a.cotangents[0], zero = like(ct, 0);
    if (a.linear[1]) cts[1] = select(*a.inputs[0], ct, zero);
    if (a.linear[2]) cts[2] = select(*a.inputs[0], zero, ct);
    return cts;
  };
  op.evaluate = [](const EvalArgs& a) {
    const bool* condition = a.inputs[0].data<bool>();
    std::size_t n = static_cast<std::size_t>(size_of(a.outputs[0].dtype));
    for (std::int64_t i = 0; i < a.outputs[0].count(); ++i) {
      const HostArray& chosen = a.inputs[condition[i] ? 1 : 2];
      std::memcpy(a.outputs[0].bytes + static_cast<std::size_t>(i) * n,
                  chosen.bytes + static_cast<std::size_t>(i) * n, n);
    }
  };
  op.emit = [](Emitter& e, const Equation&, int, std::span<const Index> at) {
    return e.select(e.operand(0, at), e.operand(1, at), e.operand(2, at));
  };
  op.examples = [] {
    std::vector<OpExample> examples;
    for (const Type& t :
         {Type(DType::float32, {2, 3}), Type(DType::bfloat16, {4}), Type(DType::int32, {}),
          Type(DType::boolean, {5}), Type(DType::complex64, {2, 2})}) {
      OpExample e;
      e.inputs = {Type(DType::boolean, t.shape), t, t};
      e.int_hi = 1;
      examples.push_back(std::move(e));
    }
    return examples;
  };
  return op;
}

// Strictly inside the bounds the derivative is x's, outside it is the bound's, and on a bound it is
// zero. If lo > hi, hi wins.
Op make_clamp() {
  Op op =
      elementwise_op("clamp", "clamp",
                     "min(max(x, lo), hi), operands in the order lo, x, hi; NaN where any is NaN.",
                     3, Accepts::real_numeric);
  op.exact = true;
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    Value lo = a.inputs[0], x = a.inputs[1], hi = a.inputs[2];
    auto where = [](Value condition, Value t) { return select(condition, t, like(t, 0)); };
    MaybeValue d;
    if (a.tangents[0]) d = where(and_(gt(lo, x), lt(lo, hi)), *a.tangents[0]);
    if (a.tangents[1]) d = plus(d, where(and_(gt(x, lo), lt(x, hi)), *a.tangents[1]));
    if (a.tangents[2]) d = plus(d, where(or_(lt(hi, x), lt(hi, lo)), *a.tangents[2]));
    return {d};
  };
  op.waived["transpose"] = "its derivative is a sum of selects";
  op.updates = updates_of({1});
  op.evaluate = evaluate_real_numeric<3>([](auto lo, auto x, auto hi) {
    // As in max and min, -0 is less than +0.
    auto less = [](auto p, auto q) {
      if constexpr (std::is_floating_point_v<decltype(p)>)
        if (p == q) return std::signbit(p) && !std::signbit(q);
      return p < q;
    };
    if constexpr (std::is_floating_point_v<decltype(x)>)
      if (lo != lo || x != x || hi != hi) return std::numeric_limits<decltype(x)>::quiet_NaN();
    auto raised = less(x, lo) ? lo : x;
    return less(hi, raised) ? hi : raised;
  });
  op.emit = [](Emitter& e, const Equation&, int, std::span<const Index> at) {
    return e.binary(Arith::min, e.binary(Arith::max, e.operand(1, at), e.operand(0, at)),
                    e.operand(2, at));
  };
  return op;
}

}  // namespace

void register_select(Registry& r) {
  Op select = make_select(), clamp = make_clamp();
  add_all(r, select, clamp);
}

}  // namespace tessera::inline v0::ops
