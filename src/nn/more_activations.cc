#include <tessera/nn/activations.h>

#include "nn/checks.h"
#include "nn/floats.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/nn.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

namespace {

// f of x in floats, rounded once.
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
    // What is not chosen has a finite derivative.
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
    // No infinity meets the 0 of its gate.
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
    // Below zero v and the root cancel: their product with what they differ by is b.
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
