// add, sub, mul, div, rem, pow, atan2, max, min.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"
#include "ops/elementwise/integer_math.h"
#include "ops/updates.h"

#include <cmath>
#include <limits>

namespace tessera::inline v0::ops {

Value add(Value x, Value y) { return x.builder->emit1("add", {x, y}); }
Value sub(Value x, Value y) { return x.builder->emit1("sub", {x, y}); }
Value mul(Value x, Value y) { return x.builder->emit1("mul", {x, y}); }
Value div(Value x, Value y) { return x.builder->emit1("div", {x, y}); }
Value rem(Value x, Value y) { return x.builder->emit1("rem", {x, y}); }
Value atan2(Value y, Value x) { return x.builder->emit1("atan2", {y, x}); }
Value max(Value x, Value y) { return x.builder->emit1("max", {x, y}); }
Value min(Value x, Value y) { return x.builder->emit1("min", {x, y}); }

namespace {

// Applies f to floats and complex numbers, and g to integers.
template <class F, class G>
auto by_kind(F f, G g) {
  return [f, g](auto x, auto y) {
    if constexpr (kRounds<decltype(x)>)
      return f(x, y);
    else
      return g(x, y);
  };
}

Op make_add() {
  Op op = arith_op(Arith::add, "add", "add", "x + y. Integers wrap around; of booleans it is `or`.",
                   2, Accepts::any);
  op.exact = true;
  op.combiner = Combiner::add;
  op.simplify = [](const SimplifyArgs& a) {
    // -0 + 0 is 0, so the neutral element of floating addition is -0.
    const bool floating = is_floating(a.around.type(a.eqn.outputs[0]).dtype);
    return neutral_element(floating ? -0.0 : 0.0, true)(a);
  };
  op.updates = updates_all();
  op.jvp = [](const JvpArgs& a) { return MaybeValues{plus(a.tangents[0], a.tangents[1])}; };
  op.transpose = [](const TransposeArgs& a) {
    return MaybeValues{a.cotangents[0], a.cotangents[0]};
  };
  op.evaluate =
      [numeric = evaluate_numeric<2>(by_kind([](auto x, auto y) { return x + y; },
                                             [](auto x, auto y) { return wrap_add(x, y); })),
       logical = evaluate_ordered_predicate<2>([](auto x, auto y) { return x || y; })](
          const EvalArgs& a) { (a.inputs[0].dtype == DType::boolean ? logical : numeric)(a); };
  return op;
}

Op make_sub() {
  Op op =
      arith_op(Arith::sub, "sub", "subtract", "x - y. Integers wrap around.", 2, Accepts::numeric);
  op.exact = true;
  op.simplify = neutral_element(0, false);
  op.updates = updates_of({0});
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    const auto& [x, y] = std::pair(a.tangents[0], a.tangents[1]);
    if (!y) return {x};
    return {x ? sub(*x, *y) : neg(*y)};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    const MaybeValue& ct = a.cotangents[0];
    if (!ct) return {std::nullopt, std::nullopt};
    return {ct, a.linear[1] ? MaybeValue(neg(*ct)) : std::nullopt};
  };
  op.evaluate = evaluate_numeric<2>(
      by_kind([](auto x, auto y) { return x - y; }, [](auto x, auto y) { return wrap_sub(x, y); }));
  return op;
}

Op make_mul() {
  Op op = arith_op(Arith::mul, "mul", "multiply",
                   "x * y. Integers wrap around; of booleans it is `and`.", 2, Accepts::any);
  op.exact = true;
  op.simplify = neutral_element(1, true);
  op.updates = [](const UpdateArgs& a) {
    std::vector<std::size_t> factors;
    if (a.same[1]) factors.push_back(0);
    if (a.same[0]) factors.push_back(1);
    return factors;
  };
  op.jvp = [](const JvpArgs& a) {
    MaybeValue dx, dy;
    if (a.tangents[0]) dx = mul(*a.tangents[0], a.inputs[1]);
    if (a.tangents[1]) dy = mul(a.inputs[0], *a.tangents[1]);
    return MaybeValues{plus(dx, dy)};
  };
  op.linear = [](std::span<const bool> in) { return !(in[0] && in[1]); };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (a.linear[0] && a.linear[1]) throw InternalError("mul is linear in one operand at a time");
    const MaybeValue& ct = a.cotangents[0];
    if (!ct) return {std::nullopt, std::nullopt};
    if (a.linear[0]) return {mul(*ct, *a.inputs[1]), std::nullopt};
    return {std::nullopt, mul(*a.inputs[0], *ct)};
  };
  op.evaluate =
      [numeric = evaluate_numeric<2>(by_kind([](auto x, auto y) { return times(x, y); },
                                             [](auto x, auto y) { return wrap_mul(x, y); })),
       logical = evaluate_ordered_predicate<2>([](auto x, auto y) { return x && y; })](
          const EvalArgs& a) { (a.inputs[0].dtype == DType::boolean ? logical : numeric)(a); };
  return op;
}

Op make_div() {
  Op op = arith_op(Arith::div, "div", "divide",
                   "x / y. Complex numbers divide by Smith's formula. Integers truncate towards "
                   "zero; x / 0 is -1 (all ones where unsigned), "
                   "the least integer divided by "
                   "-1 is itself.",
                   2, Accepts::numeric, 0.5, 2);
  op.exact = true;
  op.simplify = neutral_element(1, false);
  op.linear = [](std::span<const bool> in) { return !in[1]; };
  op.updates = [](const UpdateArgs& a) {
    return a.same[1] ? std::vector<std::size_t>{0} : std::vector<std::size_t>{};
  };
  op.jvp = [](const JvpArgs& a) {
    MaybeValue dx, dy;
    if (a.tangents[0]) dx = div(*a.tangents[0], a.inputs[1]);
    if (a.tangents[1]) dy = mul(*a.tangents[1], neg(div(a.outputs[0], a.inputs[1])));
    return MaybeValues{plus(dx, dy)};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (a.linear[1]) throw InternalError("div is not linear in its divisor");
    const MaybeValue& ct = a.cotangents[0];
    return {ct ? MaybeValue(div(*ct, *a.inputs[1])) : std::nullopt, std::nullopt};
  };
  op.evaluate = evaluate_numeric<2>(by_kind([](auto x, auto y) { return over(x, y); },
                                            [](auto x, auto y) { return defined_div(x, y); }));
  return op;
}

Op make_rem() {
  Op op = arith_op(
      Arith::rem, "rem", "remainder",
      "The remainder of x / y truncated towards zero: the sign is x's. Of integers, x rem 0 is x.",
      2, Accepts::real_numeric, 0.5, 2);
  op.cheap = false;
  op.jvp = [](const JvpArgs& a) {
    MaybeValue dy;
    if (a.tangents[1]) {
      Value quotient = div(a.inputs[0], a.inputs[1]);
      Value truncated = mul(sign(quotient), floor(abs(quotient)));
      dy = mul(*a.tangents[1], neg(truncated));
    }
    return MaybeValues{plus(a.tangents[0], dy)};
  };
  op.waived["transpose"] = "its derivative is a product and a sum, never a remainder";
  op.waived["updates"] = "what a division leaves of a state is none";
  op.evaluate = evaluate_real_numeric<2>(by_kind([](auto x, auto y) { return std::fmod(x, y); },
                                                 [](auto x, auto y) { return defined_rem(x, y); }));
  return op;
}

Op make_atan2() {
  Op op = arith_op(Arith::atan2, "atan2", "atan2",
                   "The angle of the point (x, y), operands in the order y, x, in [-pi, pi].", 2,
                   Accepts::floating, 0.5, 2);
  op.cheap = false;
  op.jvp = [](const JvpArgs& a) {
    // x / (x^2 + y^2). The denominator may overflow or underflow where the quotient does not, so
    // divide twice by the square root. The result is zero where that is infinite.
    Value y = a.inputs[0], x = a.inputs[1], distance = hypot(x, y);
    Value far = eq(distance, like(x, std::numeric_limits<double>::infinity()));
    auto slope = [&](Value v) { return select(far, like(v, 0), div(div(v, distance), distance)); };
    MaybeValue dy, dx;
    if (a.tangents[0]) dy = mul(*a.tangents[0], slope(x));
    if (a.tangents[1]) dx = mul(*a.tangents[1], neg(slope(y)));
    return MaybeValues{plus(dy, dx)};
  };
  op.waived["transpose"] = "its derivative is a sum of products";
  op.evaluate = evaluate_floating<2>([](auto y, auto x) { return std::atan2(y, x); });
  return op;
}

// Max and min differ only in direction. The derivative goes to the chosen operand, half to each in
// a tie.
Op make_extremum(bool is_max) {
  Op op = arith_op(
      is_max ? Arith::max : Arith::min, is_max ? "max" : "min", is_max ? "maximum" : "minimum",
      std::string("The ") + (is_max ? "greater" : "lesser") +
          " of x and y. NaN where either is NaN; -0 is less than +0; of booleans it is `" +
          (is_max ? "or" : "and") + "`.",
      2, Accepts::ordered);
  op.exact = true;
  op.updates = updates_all();
  op.jvp = [is_max](const JvpArgs& a) {
    // Uses select instead of multiplying by 0 or 1, so an infinite tangent of the operand not
    // chosen has no effect.
    auto chosen = [&](Value t, Value x, Value y) {
      Value taken = is_max ? ge(x, y) : le(x, y);
      return select(taken, select(eq(x, y), mul(t, like(t, 0.5)), t), like(t, 0));
    };
    MaybeValue dx, dy;
    if (a.tangents[0]) dx = chosen(*a.tangents[0], a.inputs[0], a.inputs[1]);
    if (a.tangents[1]) dy = chosen(*a.tangents[1], a.inputs[1], a.inputs[0]);
    return MaybeValues{plus(dx, dy)};
  };
  op.waived["transpose"] = "its derivative is a sum of selections";
  auto choose = [is_max](auto x, auto y) {
    if constexpr (std::is_floating_point_v<decltype(x)>) {
      if (x != x) return x;
      if (y != y) return y;
      if (x == y) return std::signbit(x) == is_max ? y : x;
    }
    return (x < y) == is_max ? y : x;
  };
  op.evaluate = [numeric = evaluate_real_numeric<2>(choose),
                 logical = evaluate_ordered_predicate<2>(choose)](const EvalArgs& a) {
    (a.inputs[0].dtype == DType::boolean ? logical : numeric)(a);
  };
  return op;
}

}  // namespace

void register_arithmetic(Registry& r) {
  Op add = make_add(), sub = make_sub(), mul = make_mul(), div = make_div(), rem = make_rem(),
     atan2 = make_atan2();
  Op max = make_extremum(true), min = make_extremum(false);
  add_all(r, add, sub, mul, div, rem, atan2, max, min);
}

}  // namespace tessera::inline v0::ops
