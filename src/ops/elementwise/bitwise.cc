// not, and, or, xor and the shifts.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"
#include "ops/elementwise/integer_math.h"

namespace tessera::inline v0::ops {

Value not_(Value x) { return x.builder->emit1("not", {x}); }
Value and_(Value x, Value y) { return x.builder->emit1("and", {x, y}); }
Value or_(Value x, Value y) { return x.builder->emit1("or", {x, y}); }
Value xor_(Value x, Value y) { return x.builder->emit1("xor", {x, y}); }
Value shift_left(Value x, Value y) { return x.builder->emit1("shift_left", {x, y}); }
Value shift_right_logical(Value x, Value y) {
  return x.builder->emit1("shift_right_logical", {x, y});
}
Value shift_right_arithmetic(Value x, Value y) {
  return x.builder->emit1("shift_right_arithmetic", {x, y});
}

namespace {

template <class F>
Op bitwise(Arith arith, std::string name, const std::string& doc, F f) {
  constexpr int kArity = std::is_invocable_v<F, int> ? 1 : 2;
  std::string stablehlo = name;
  Op op = arith_op(arith, std::move(name), std::move(stablehlo), doc, kArity, Accepts::integral);
  op.exact = true;
  op.jvp = no_tangent();
  op.waived["transpose"] = "integers and booleans have no derivative";
  op.evaluate = evaluate_integral<kArity>(f);
  return op;
}

template <class F>
Op shift(Arith arith, std::string name, const std::string& doc, F f) {
  std::string stablehlo = name;
  Op op =
      arith_op(arith, std::move(name), std::move(stablehlo),
               doc + " The amount y counts as unsigned; the width or more shifts every bit out.", 2,
               Accepts::integer);
  op.jvp = no_tangent();
  op.waived["transpose"] = "integers have no derivative";
  op.evaluate = evaluate_integral<2>([f](auto x, auto y) {
    if constexpr (std::is_same_v<decltype(x), bool>)
      return x;  // rejected by infer
    else
      return f(x, y);
  });
  return op;
}

struct Not {
  template <class T>
  auto operator()(T x) const {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return ~x;
  }
};

}  // namespace

void register_bitwise(Registry& r) {
  Op not_op =
      bitwise(Arith::not_, "not", "The complement of x: bitwise, or logical of booleans.", Not{});
  Op and_op = bitwise(Arith::and_, "and", "x and y: bitwise, or logical of booleans.",
                      [](auto x, auto y) { return x & y; });
  Op or_op = bitwise(Arith::or_, "or", "x or y: bitwise, or logical of booleans.",
                     [](auto x, auto y) { return x | y; });
  Op xor_op = bitwise(Arith::xor_, "xor", "x exclusive or y: bitwise, or logical of booleans.",
                      [](auto x, auto y) { return x ^ y; });
  or_op.simplify = xor_op.simplify = neutral_element(0, true);
  Op left = shift(Arith::shift_left, "shift_left", "x shifted left by y bits, zeros coming in.",
                  [](auto x, auto y) { return defined_shl(x, y); });
  Op logical = shift(Arith::shift_right_logical, "shift_right_logical",
                     "x shifted right by y bits, zeros coming in.",
                     [](auto x, auto y) { return defined_shr_logical(x, y); });
  Op arithmetic = shift(Arith::shift_right_arithmetic, "shift_right_arithmetic",
                        "x shifted right by y bits, copies of the top bit coming in.",
                        [](auto x, auto y) { return defined_shr_arithmetic(x, y); });
  add_all(r, not_op, and_op, or_op, xor_op, left, logical, arithmetic);
}

}  // namespace tessera::inline v0::ops
