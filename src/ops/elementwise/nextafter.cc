// nextafter.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <bit>
#include <cmath>

namespace tessera::inline v0::ops {

Value nextafter(Value x, Value y) { return x.builder->emit1("nextafter", {x, y}); }

namespace {

// The neighbour of a 16-bit float, found in its own bits, which are ordered by magnitude.
template <class T>
T next_narrow(T from, T to) {
  const float x = widen(from), y = widen(to);
  if (x != x || y != y) return T(x + y);
  if (x == y) return to;
  auto bits = std::bit_cast<std::uint16_t>(from);
  if (x == 0)
    bits = static_cast<std::uint16_t>(y < 0 ? 0x8001 : 1);
  else
    bits = static_cast<std::uint16_t>((x < y) == (x > 0) ? bits + 1 : bits - 1);
  return std::bit_cast<T>(bits);
}

void nextafter_evaluate(const EvalArgs& a) {
  dispatch(a.outputs[0].dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (kFloating<T>) {
      const T *x = a.inputs[0].data<T>(), *y = a.inputs[1].data<T>();
      for (std::int64_t i = 0; i < a.outputs[0].count(); ++i) {
        if constexpr (kNarrow<T>)
          a.outputs[0].data<T>()[i] = next_narrow(x[i], y[i]);
        else
          a.outputs[0].data<T>()[i] = std::nextafter(x[i], y[i]);
      }
    } else {
      detail::unsupported(a.outputs[0].dtype);
    }
  });
}

Lane nextafter_emit(Emitter& e, const Equation&, int, std::span<const Index> at) {
  Lane x = e.operand(0, at), y = e.operand(1, at);
  const DType d = x.dtype, bits = unsigned_of(d);
  Lane zero = e.constant(d, 0.0), one = e.constant(bits, std::int64_t{1});
  Lane number = e.bitcast(x, bits);
  Lane inwards = e.binary(Arith::xor_, e.binary(Arith::lt, x, y), e.binary(Arith::gt, x, zero));
  Lane next =
      e.select(inwards, e.binary(Arith::sub, number, one), e.binary(Arith::add, number, one));
  Lane sign = e.binary(Arith::shift_left, one, e.constant(bits, std::int64_t{8} * size_of(d) - 1));
  Lane least = e.select(e.binary(Arith::lt, y, zero), e.binary(Arith::or_, sign, one), one);
  next = e.bitcast(e.select(e.binary(Arith::eq, x, zero), least, next), d);
  next = e.select(e.binary(Arith::eq, x, y), y, next);
  Lane nan = e.binary(Arith::or_, e.binary(Arith::ne, x, x), e.binary(Arith::ne, y, y));
  return e.select(nan, e.binary(Arith::add, x, y), next);
}

}  // namespace

void register_nextafter(Registry& r) {
  Op op = elementwise_op("nextafter", "chlo.next_after",
                         "The number of the dtype next to x in the direction of y, subnormal ones "
                         "included; y where they are equal, NaN where either is. It has no "
                         "derivative.",
                         2, Accepts::floating);
  op.exact = true;
  op.cost = pointwise_cost(8);
  op.evaluate = nextafter_evaluate;
  op.emit = nextafter_emit;
  op.waived = {{"jvp", "it is no function of real numbers"},
               {"transpose", "it is not linear"},
               {"updates", "a neighbour of a state is another value"}};
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
