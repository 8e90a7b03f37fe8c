// hypot, a separate op so that its derivative is x / hypot, which is finite wherever the derivative
// exists.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <cmath>
#include <limits>

namespace tessera::inline v0::ops {

Value hypot(Value x, Value y) { return x.builder->emit1("hypot", {x, y}); }

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The derivatives are 1/2 each at (0, 0), as for max, and the signs of infinite operands.
MaybeValues hypot_jvp(const JvpArgs& a) {
  Value h = a.outputs[0], zero = like(h, 0);
  auto part = [&](std::size_t i) -> MaybeValue {
    if (!a.tangents[i]) return std::nullopt;
    Value x = a.inputs[i];
    Value far = select(eq(abs(x), like(x, kInfinity)), sign(x), zero);
    Value slope = div(x, select(eq(h, zero), like(h, 1), h));
    slope = select(eq(h, like(h, kInfinity)), far, slope);
    return mul(*a.tangents[i], select(eq(h, zero), like(h, 0.5), slope));
  };
  return {plus(part(0), part(1))};
}

Lane hypot_emit(Emitter& e, Lane x, Lane y) {
  auto constant = [&](double v) { return e.constant(x.dtype, v); };
  x = e.unary(Arith::abs, x);
  y = e.unary(Arith::abs, y);
  Lane big = e.binary(Arith::max, x, y), small = e.binary(Arith::min, x, y);
  Lane zero = e.binary(Arith::eq, big, constant(0));
  Lane ratio = e.binary(Arith::div, small, e.select(zero, constant(1), big));
  Lane root =
      e.unary(Arith::sqrt, e.binary(Arith::add, constant(1), e.binary(Arith::mul, ratio, ratio)));
  // The result is infinite if either operand is, even if the other is NaN.
  Lane infinite = e.binary(Arith::or_, e.binary(Arith::eq, x, constant(kInfinity)),
                           e.binary(Arith::eq, y, constant(kInfinity)));
  return e.select(infinite, constant(kInfinity), e.binary(Arith::mul, big, root));
}

}  // namespace

void register_hypot(Registry& r) {
  Op op = elementwise_op("hypot", "",
                         "The length of (x, y), without overflow; infinite where either is. "
                         "16-bit floats are computed in float32.",
                         2, Accepts::floating, 0.5, 2);
  op.cheap = false;
  op.cost = pointwise_cost(10);
  op.jvp = hypot_jvp;
  op.waived = {{"stablehlo", "exported as the greater times a square root of the ratio"},
               {"transpose", "its derivative is a sum of products"}};
  // std::hypot gives NaN for an infinity and a signalling NaN.
  op.evaluate = evaluate_floating<2>([](auto x, auto y) {
    return std::isinf(x) || std::isinf(y) ? std::numeric_limits<decltype(x)>::infinity()
                                          : std::hypot(x, y);
  });
  op.emit = [](Emitter& e, const Equation&, int, std::span<const Index> at) {
    return through_float(e, e.operand(0, at), e.operand(1, at),
                         [&](Lane x, Lane y) { return hypot_emit(e, x, y); });
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
