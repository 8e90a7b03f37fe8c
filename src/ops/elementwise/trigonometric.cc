// sin, cos, tan and their inverses; sinh, cosh, tanh and theirs.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <cmath>

namespace tessera::inline v0::ops {

Value sin(Value x) { return x.builder->emit1("sin", {x}); }
Value cos(Value x) { return x.builder->emit1("cos", {x}); }
Value tan(Value x) { return x.builder->emit1("tan", {x}); }
Value asin(Value x) { return x.builder->emit1("asin", {x}); }
Value acos(Value x) { return x.builder->emit1("acos", {x}); }
Value atan(Value x) { return x.builder->emit1("atan", {x}); }
Value sinh(Value x) { return x.builder->emit1("sinh", {x}); }
Value cosh(Value x) { return x.builder->emit1("cosh", {x}); }
Value tanh(Value x) { return x.builder->emit1("tanh", {x}); }
Value asinh(Value x) { return x.builder->emit1("asinh", {x}); }
Value acosh(Value x) { return x.builder->emit1("acosh", {x}); }
Value atanh(Value x) { return x.builder->emit1("atanh", {x}); }

namespace {
Value plus_one(Value x) { return add(x, like(x, 1)); }
Value one_minus(Value x) { return sub(like(x, 1), x); }
// (1 - x)(1 + x) is 1 - x^2 without the cancellation.
Value one_minus_square(Value x) { return mul(one_minus(x), plus_one(x)); }
Value reciprocal(Value x) { return div(like(x, 1), x); }
}  // namespace

void register_trigonometric(Registry& r) {
  Op sin = smooth_op(
      Arith::sin, "sin", "sine", "The sine of x radians.", -3, 3,
      [](auto x) { return std::sin(x); }, [](Value x, Value) { return ops::cos(x); });
  Op cos = smooth_op(
      Arith::cos, "cos", "cosine", "The cosine of x radians.", -3, 3,
      [](auto x) { return std::cos(x); }, [](Value x, Value) { return neg(ops::sin(x)); });
  Op tan = smooth_op(
      Arith::tan, "tan", "tan", "The tangent of x radians.", -1, 1,
      [](auto x) { return std::tan(x); }, [](Value, Value y) { return plus_one(mul(y, y)); });
  Op asin = smooth_op(
      Arith::asin, "asin", "chlo.asin",
      "The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1].", -0.75, 0.75,
      [](auto x) { return std::asin(x); },
      [](Value x, Value) { return rsqrt(one_minus_square(x)); });
  Op acos = smooth_op(
      Arith::acos, "acos", "chlo.acos",
      "The angle in [0, pi] whose cosine is x; NaN outside [-1, 1].", -0.75, 0.75,
      [](auto x) { return std::acos(x); },
      [](Value x, Value) { return neg(rsqrt(one_minus_square(x))); });
  Op atan = smooth_op(
      Arith::atan, "atan", "chlo.atan", "The angle in [-pi/2, pi/2] whose tangent is x.", -2, 2,
      [](auto x) { return std::atan(x); },
      [](Value x, Value) { return reciprocal(plus_one(mul(x, x))); });
  Op sinh = smooth_op(
      Arith::sinh, "sinh", "chlo.sinh", "(exp(x) - exp(-x)) / 2.", -2, 2,
      [](auto x) { return std::sinh(x); }, [](Value x, Value) { return ops::cosh(x); });
  Op cosh = smooth_op(
      Arith::cosh, "cosh", "chlo.cosh", "(exp(x) + exp(-x)) / 2.", -2, 2,
      [](auto x) { return std::cosh(x); }, [](Value x, Value) { return ops::sinh(x); });
  Op tanh = smooth_op(
      Arith::tanh, "tanh", "tanh", "sinh(x) / cosh(x).", -2, 2, [](auto x) { return std::tanh(x); },
      [](Value, Value y) { return one_minus_square(y); });
  Op asinh = smooth_op(
      Arith::asinh, "asinh", "chlo.asinh", "The number whose sinh is x.", -2, 2,
      [](auto x) { return std::asinh(x); },
      [](Value x, Value) { return rsqrt(plus_one(mul(x, x))); });
  Op acosh = smooth_op(
      Arith::acosh, "acosh", "chlo.acosh", "The number in [0, inf) whose cosh is x; NaN below 1.",
      1.5, 3, [](auto x) { return std::acosh(x); },
      [](Value x, Value) {
        const Value less = sub(x, like(x, 1)), more = plus_one(x);
        // For complex numbers with a negative real part, the root of the product has the opposite
        // sign.
        return is_complex(x.dtype()) ? mul(rsqrt(less), rsqrt(more)) : rsqrt(mul(less, more));
      });
  Op atanh = smooth_op(
      Arith::atanh, "atanh", "chlo.atanh", "The number whose tanh is x; NaN outside [-1, 1].",
      -0.75, 0.75, [](auto x) { return std::atanh(x); },
      [](Value x, Value) { return reciprocal(one_minus_square(x)); });
  add_all(r, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh);
}

}  // namespace tessera::inline v0::ops
