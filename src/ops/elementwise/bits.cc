// population_count, count_leading_zeros and mulhi: integers as bit strings.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <bit>
#include <limits>

namespace tessera::inline v0::ops {

Value population_count(Value x) { return x.builder->emit1("population_count", {x}); }
Value count_leading_zeros(Value x) { return x.builder->emit1("count_leading_zeros", {x}); }
Value mulhi(Value x, Value y) { return x.builder->emit1("mulhi", {x, y}); }

namespace {

/// An evaluator for integers alone; the function sees the elements unconverted.
template <int N, class F>
EvalRule evaluate_integers(F f) {
  return evaluate_integral<N>([f](auto x, auto... rest) {
    if constexpr (std::is_same_v<decltype(x), bool>)
      return x;  // rejected by infer
    else
      return f(x, rest...);
  });
}

Op integer_op(Op op) {
  op.exact = true;
  op.jvp = no_tangent();
  op.waived["transpose"] = "integers have no derivative";
  return op;
}

template <class T>
T high_half(T x, T y) {
  constexpr int width = 8 * static_cast<int>(sizeof(T));
  __extension__ using Signed = __int128;
  __extension__ using Unsigned = unsigned __int128;
  using Wide = std::conditional_t<std::is_signed_v<T>, Signed, Unsigned>;
  return static_cast<T>(static_cast<Wide>(x) * static_cast<Wide>(y) >> width);
}

// The high half of a product of 64-bit unsigned numbers, from four products of their halves.
Lane emit_high_half_64(Emitter& e, Lane x, Lane y) {
  auto word = [&](std::int64_t v) { return e.constant(DType::uint64, v); };
  auto low = [&](Lane v) { return e.binary(Arith::and_, v, word(0xffffffff)); };
  auto high = [&](Lane v) { return e.binary(Arith::shift_right_logical, v, word(32)); };
  auto add = [&](Lane a, Lane b) { return e.binary(Arith::add, a, b); };
  auto mul = [&](Lane a, Lane b) { return e.binary(Arith::mul, a, b); };
  Lane middle = add(mul(high(x), low(y)), high(mul(low(x), low(y))));
  Lane other = add(mul(low(x), high(y)), low(middle));
  return add(add(mul(high(x), high(y)), high(middle)), high(other));
}

Lane emit_mulhi(Emitter& e, const Equation&, int, std::span<const Index> at) {
  Lane x = e.operand(0, at), y = e.operand(1, at);
  const DType d = x.dtype;
  const bool is_signed = is_signed_integer(d);
  if (size_of(d) < 8) {
    const DType wide = is_signed ? DType::int64 : DType::uint64;
    Lane product = e.binary(Arith::mul, e.convert(x, wide), e.convert(y, wide));
    return e.convert(e.binary(Arith::shift_right_logical, product,
                              e.constant(wide, std::int64_t{8} * size_of(d))),
                     d);
  }
  if (!is_signed) return emit_high_half_64(e, x, y);
  // As an unsigned number, a negative number is larger by 2^64, so the high half of the product is
  // too large by the other factor.
  Lane high =
      e.bitcast(emit_high_half_64(e, e.bitcast(x, DType::uint64), e.bitcast(y, DType::uint64)), d);
  Lane zero = e.constant(d, std::int64_t{0});
  auto where_negative = [&](Lane sign, Lane other) {
    return e.select(e.binary(Arith::lt, sign, zero), other, zero);
  };
  high = e.binary(Arith::sub, high, where_negative(x, y));
  return e.binary(Arith::sub, high, where_negative(y, x));
}

}  // namespace

void register_bits(Registry& r) {
  Op count = integer_op(arith_op(Arith::popcount, "population_count", "popcnt",
                                 "The number of bits of x that are set.", 1, Accepts::integer));
  count.evaluate = evaluate_integers<1>(
      [](auto x) { return std::popcount(static_cast<std::make_unsigned_t<decltype(x)>>(x)); });
  Op zeros = integer_op(arith_op(Arith::clz, "count_leading_zeros", "count_leading_zeros",
                                 "The number of bits of x above the highest that is set; of 0 all "
                                 "of them.",
                                 1, Accepts::integer));
  zeros.evaluate = evaluate_integers<1>(
      [](auto x) { return std::countl_zero(static_cast<std::make_unsigned_t<decltype(x)>>(x)); });
  Op high = integer_op(elementwise_op("mulhi", "chlo.mulhi",
                                      "The upper half of the product of x and y in twice their "
                                      "width.",
                                      2, Accepts::integer));
  high.cheap = false;
  high.cost = pointwise_cost(8);
  high.evaluate = evaluate_integers<2>([](auto x, auto y) { return high_half(x, y); });
  high.emit = emit_mulhi;
  add_all(r, count, zeros, high);
}

}  // namespace tessera::inline v0::ops
