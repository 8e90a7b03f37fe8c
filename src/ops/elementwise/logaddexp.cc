// logaddexp, a separate op so that its derivative is that of the smooth function. It is computed
// from a maximum and a distance, each of which has a kink where the operands are equal.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <cmath>

namespace tessera::inline v0::ops {

Value logaddexp(Value x, Value y) { return x.builder->emit1("logaddexp", {x, y}); }

namespace {

// The softmax weights of the two operands, which add up to 1; 1/2 each where they are equal,
// including equal infinities.
MaybeValues logaddexp_jvp(const JvpArgs& a) {
  Value x = a.inputs[0], y = a.inputs[1];
  Value d = sub(x, y);
  d = select(and_(eq(x, y), ne(d, d)), like(x, 0), d);
  MaybeValue dx, dy;
  if (a.tangents[0]) dx = mul(*a.tangents[0], logistic(d));
  if (a.tangents[1]) dy = mul(*a.tangents[1], logistic(neg(d)));
  return {plus(dx, dy)};
}

Lane logaddexp_emit(Emitter& e, Lane x, Lane y) {
  Lane d = e.binary(Arith::sub, x, y);
  Lane far = e.unary(Arith::exp, e.unary(Arith::neg, e.unary(Arith::abs, d)));
  Lane r = e.binary(Arith::add, e.binary(Arith::max, x, y), e.unary(Arith::log1p, far));
  // The difference of equal infinities is NaN; their sum is the result.
  return e.select(e.binary(Arith::ne, d, d), e.binary(Arith::add, x, y), r);
}

}  // namespace

void register_logaddexp(Registry& r) {
  Op op = elementwise_op("logaddexp", "",
                         "log(exp(x) + exp(y)) without overflow. The derivatives are a half each "
                         "where x and y are equal infinities. 16-bit floats are computed in "
                         "float32.",
                         2, Accepts::floating);
  op.cheap = false;
  op.cost = pointwise_cost(20);
  op.jvp = logaddexp_jvp;
  op.waived = {{"stablehlo", "exported as log_plus_one of an exponential"},
               {"transpose", "its derivative is a sum of products"}};
  op.evaluate = evaluate_floating<2>([](auto x, auto y) {
    auto d = x - y;
    return d != d ? x + y : std::fmax(x, y) + std::log1p(std::exp(-std::fabs(d)));
  });
  op.emit = [](Emitter& e, const Equation&, int, std::span<const Index> at) {
    return through_float(e, e.operand(0, at), e.operand(1, at),
                         [&](Lane x, Lane y) { return logaddexp_emit(e, x, y); });
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
