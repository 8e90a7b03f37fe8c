#include "nn/checks.h"
#include "nn/floats.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/nn.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

Array relu(Operand x) {
  const InFunction called("relu", x.loc);
  need_array("relu", "x", x.array, x.loc);
  // A selection, not maximum(x, 0): at 0 its derivative is 0, where maximum's would be a half. NaN
  // is not at most 0 and comes through.
  return where(Operand(less_equal(x, 0), x.loc), Operand(0, x.loc), x);
}
Array leaky_relu(Operand x, double slope) {
  const InFunction called("leaky_relu", x.loc);
  need_array("leaky_relu", "x", x.array, x.loc);
  need_number("leaky_relu", "the slope", slope, -HUGE_VAL, HUGE_VAL, "0.01 is usual", x.loc);
  return where(Operand(greater_equal(x, 0), x.loc), x, multiply(x, slope));
}

namespace {

// x times a gate that is 0 far below zero and 1 far above: `f` sees x within bounds where the gate
// is still open or shut, so that no infinity is multiplied by 0, in value or derivative.
template <class F>
Array gated(const char* function, const Operand& x, F f) {
  const InFunction called(function, x.loc);
  need_array(function, "x", x.array, x.loc);
  return in_float32(x, [&](const Operand& v) {
    constexpr double kFar = 1e4;
    const Operand above(greater(v, kFar), v.loc);
    // What is compared is what is selected, which is one instruction.
    const Operand most(where(above, Operand(kFar, v.loc), v), v.loc);
    const Operand below(less(most, -kFar), v.loc);
    const Array within = where(below, Operand(-kFar, v.loc), most);
    return where(above, v, Operand(f(Operand(within, v.loc)), v.loc));
  });
}

}  // namespace

Array gelu(Operand x, bool approximate) {
  return gated("gelu", x, [&](const Operand& v) {
    // erfc keeps the digits that 1 + erf loses below zero.
    if (!approximate)
      return multiply(multiply(v, 0.5), erfc(Operand(multiply(v, -std::sqrt(0.5)), v.loc)));
    // (1 + tanh(u)) / 2 = sigmoid(2 u), likewise.
    const Array cube = multiply(Operand(multiply(v, v), v.loc), v);
    const Array inner = multiply(add(v, multiply(cube, 0.044715)), 2 * std::sqrt(2 / M_PI));
    return multiply(v, sigmoid(Operand(inner, v.loc)));
  });
}
Array silu(Operand x) {
  return gated("silu", x, [](const Operand& v) { return multiply(v, sigmoid(v)); });
}
Array elu(Operand x, double alpha) {
  const InFunction called("elu", x.loc);
  need_array("elu", "x", x.array, x.loc);
  need_number("elu", "alpha", alpha, -HUGE_VAL, HUGE_VAL, "1.0 is usual", x.loc);
  return in_float32(x, [&](const Operand& v) {
    const Operand curved(less_equal(v, 0), v.loc);
    // What is not chosen has a finite derivative.
    const Array below = expm1(Operand(where(curved, v, Operand(0, v.loc)), v.loc));
    return where(curved, Operand(below * alpha, v.loc), v);
  });
}
Array log_sigmoid(Operand x) {
  const InFunction called("log_sigmoid", x.loc);
  need_array("log_sigmoid", "x", x.array, x.loc);
  return negative(logaddexp(Operand(negative(as_real(x)), x.loc), 0.0));
}
Array softplus(Operand x) {
  const InFunction called("softplus", x.loc);
  need_array("softplus", "x", x.array, x.loc);
  return logaddexp(x, 0.0);
}

namespace {
void need_classes(const char* function, const Operand& x, std::int64_t axis) {
  need_array(function, "x", x.array, x.loc);
  const int rank = x.array.ndim();
  Message m(function);
  m.from(x.loc).problem("x is " + describe(x.array));
  if (x.array.dtype() == DType::boolean)
    m.rule("it takes numbers").advice("convert with astype(ts::f32)").raise<DTypeError>();
  if (rank == 0)
    m.rule("it has an axis of classes, to which the probabilities belong")
        .advice("pass the logits of all classes as one array, for example by ts::stack")
        .raise<ShapeError>();
  if (axis < -rank || axis >= rank)
    m.problem("x is " + describe(x.array) + ", which has no axis " + std::to_string(axis))
        .rule("an axis is at least " + std::to_string(-rank) + " and less than " +
              std::to_string(rank))
        .advice("count axes from 0, or from the end with -1, the last axis")
        .raise<ShapeError>();
}

// x minus its maximum along the axis, which cancels in both softmaxes and so is no business of
// derivatives.
Array shifted(const Operand& x, std::int64_t axis) {
  if (x.array.shape(static_cast<int>(axis)) == 0) return x.array;  // nothing to shift
  const Operand v = in_floats(x);
  return subtract(v, stop_gradient(max(v, axis, true)));
}
}  // namespace

Array softmax(Operand x, std::int64_t axis) {
  const InFunction called("softmax", x.loc);
  need_classes("softmax", x, axis);
  Array e = exp(Operand(shifted(x, axis), x.loc));
  return divide(e, sum(e, axis, true));
}
Array log_softmax(Operand x, std::int64_t axis) {
  const InFunction called("log_softmax", x.loc);
  need_classes("log_softmax", x, axis);
  // The derivative sums cotangents over all classes.
  return in_float32(x, [&](const Operand& v) {
    const Array s = shifted(v, axis);
    return subtract(s, log(sum(exp(s), axis, true)));
  });
}

}  // namespace tessera::inline v0::nn
