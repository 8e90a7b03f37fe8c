#include "nn/checks.h"
#include "nn/floats.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/nn/activations.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

Array relu(Operand x) {
  const InFunction called("relu", x.loc);
  need_array("relu", "x", x.array, x.loc);
  // A select rather than maximum(x, 0): its derivative at 0 is 0, where that of maximum would be
  // one half. NaN fails the comparison and is returned.
  return where(Operand(less_equal(x, 0), x.loc), Operand(0, x.loc), x);
}
Array leaky_relu(Operand x, double slope) {
  const InFunction called("leaky_relu", x.loc);
  need_array("leaky_relu", "x", x.array, x.loc);
  need_number("leaky_relu", "the slope", slope, -HUGE_VAL, HUGE_VAL, "0.01 is usual", x.loc);
  return where(Operand(greater_equal(x, 0), x.loc), x, multiply(x, slope));
}

namespace {

// x times a gate that is 0 far below zero and 1 far above. `f` sees x clamped to a range beyond
// which the gate is constant, so that an infinity is never multiplied by 0, in the value or the
// derivative.
template <class F>
Array gated(const char* function, const Operand& x, F f) {
  const InFunction called(function, x.loc);
  need_array(function, "x", x.array, x.loc);
  return in_float32(x, [&](const Operand& v) {
    constexpr double kFar = 1e4;
    const Operand above(greater(v, kFar), v.loc);
    // Selects the compared operand, which compiles to one instruction.
    const Operand most(where(above, Operand(kFar, v.loc), v), v.loc);
    const Operand below(less(most, -kFar), v.loc);
    const Array within = where(below, Operand(-kFar, v.loc), most);
    return where(above, v, Operand(f(Operand(within, v.loc)), v.loc));
  });
}

}  // namespace

Array gelu(Operand x, bool approximate) {
  return gated("gelu", x, [&](const Operand& v) {
    // Below zero, erfc keeps the digits that 1 + erf would lose.
    if (!approximate)
      return multiply(multiply(v, 0.5), erfc(Operand(multiply(v, -std::sqrt(0.5)), v.loc)));
    // (1 + tanh(u)) / 2 = sigmoid(2 u), for the same reason.
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
    // Clamped, so that the branch not selected has a finite derivative.
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

// x minus its maximum along the axis. The maximum cancels in both softmaxes, so it is constant
// under differentiation.
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
  // In float32, because the derivative sums cotangents over all classes.
  return in_float32(x, [&](const Operand& v) {
    const Array s = shifted(v, axis);
    return subtract(s, log(sum(exp(s), axis, true)));
  });
}

namespace {

// f of x in floats; the result is rounded once.
template <class F>
Array activation(const char* function, const Operand& x, F&& f) {
  const InFunction called(function, x.loc);
  need_array(function, "x", x.array, x.loc);
  if (is_complex(x.array.dtype()))
    Message(function)
        .problem("x is " + describe(x.array))
        .rule("it compares x with numbers, and complex ones have no order")
        .from(x.loc)
        .advice("take real(x) or abs(x)")
        .raise<DTypeError>();
  return in_float32(in_floats(x), [&](const Operand& v) { return f(v.array); });
}

Array gate6(const Array& x) { return clip(x + 3, 0, 6) / 6; }

}  // namespace

Array celu(Operand x, double alpha) {
  return activation("celu", x, [&](const Array& v) {
    need_number("celu", "alpha", alpha, -HUGE_VAL, HUGE_VAL, "1.0 is usual", x.loc);
    if (alpha == 0)
      Message("celu")
          .problem("alpha is 0")
          .rule("x is divided by it")
          .from(x.loc)
          .advice("1.0 is usual; relu is its limit")
          .raise<Error>();
    // Clamped, so that the branch not selected has a finite derivative.
    const Array below = expm1(where(v <= 0, v, 0) / alpha) * alpha;
    return where(v <= 0, below, v);
  });
}

Array selu(Operand x) {
  return activation("selu", x, [](const Array& v) {
    constexpr double kAlpha = 1.6732632423543772848170429916717;
    constexpr double kScale = 1.0507009873554804934193349852946;
    return where(v <= 0, expm1(where(v <= 0, v, 0)) * kAlpha, v) * kScale;
  });
}

Array relu6(Operand x) {
  return activation("relu6", x, [](const Array& v) { return clip(v, 0, 6); });
}

Array hard_tanh(Operand x) {
  return activation("hard_tanh", x,
                    [](const Array& v) { return where(v > 1, 1, where(v < -1, -1, v)); });
}

Array hard_sigmoid(Operand x) { return activation("hard_sigmoid", x, gate6); }

Array hard_silu(Operand x) {
  return activation("hard_silu", x, [](const Array& v) {
    // Avoids multiplying an infinity by the gate's 0.
    return where(v <= -3, 0, where(v >= 3, v, v * gate6(v)));
  });
}
Array hard_swish(Operand x) { return hard_silu(std::move(x)); }
Array swish(Operand x) { return silu(std::move(x)); }

Array mish(Operand x) {
  return activation("mish", x, [](const Array& v) {
    const Array finite = maximum(v, -1e4);
    return where(v > 1e4, v, finite * tanh(softplus(minimum(finite, 1e4))));
  });
}

Array soft_sign(Operand x) {
  return activation("soft_sign", x, [](const Array& v) { return v / (abs(v) + 1); });
}

Array sparse_plus(Operand x) {
  return activation("sparse_plus", x, [](const Array& v) {
    return where(v <= -1, 0, where(v >= 1, v, square(v + 1) * 0.25));
  });
}

Array sparse_sigmoid(Operand x) {
  return activation("sparse_sigmoid", x, [](const Array& v) { return clip((v + 1) * 0.5, 0, 1); });
}

Array squareplus(Operand x, double b) {
  return activation("squareplus", x, [&](const Array& v) {
    need_number("squareplus", "b", b, 0, HUGE_VAL, "4.0 is usual", x.loc);
    // Below zero, v and the root cancel; the product of their sum and difference is b, so divide b
    // instead.
    const Array size = hypot(v, std::sqrt(b)), below = less(v, 0);
    const Array half = size * 0.5, difference = half - where(below, v, -1.0) * 0.5;
    return where(below, b * 0.25 / difference, v * 0.5 + half);
  });
}

Array glu(Operand x, std::int64_t axis) {
  const InFunction called("glu", x.loc);
  need_array("glu", "x", x.array, x.loc);
  const int at = normalize_axis(axis, x.array.ndim(), "glu");
  const std::int64_t n = x.array.shape(at);
  if (n % 2)
    Message("glu")
        .problem("x is " + describe(x.array) + ", of which axis " + std::to_string(axis) + " has " +
                 std::to_string(n) + " entries")
        .rule("the axis falls into two halves, values and gates")
        .from(x.loc)
        .advice("give it an even number of features, or pass the axis that has one")
        .raise<ShapeError>();
  const std::vector<Array> halves = split(as_real(x), 2, at);
  return halves[0] * sigmoid(halves[1]);
}

Array standardize(Operand x, const StandardizeOptions& o) {
  const InFunction called("standardize", x.loc);
  need_array("standardize", "x", x.array, x.loc);
  need_number("standardize", "epsilon", o.epsilon, 0, HUGE_VAL, "1e-5 is usual", x.loc);
  const Array v = in_floats(x).array;
  const auto average = [&](const Array& of) {
    return mean(of, MeanOptions{.axis = o.axis, .keepdims = true, .where = o.where});
  };
  const Array centered = v - (o.mean ? *o.mean : average(v));
  const Array variance = o.variance ? *o.variance : average(square(centered));
  return centered * rsqrt(variance + o.epsilon);
}

}  // namespace tessera::inline v0::nn
