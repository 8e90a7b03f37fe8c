// neg, abs, sign, floor, ceil, round_nearest_even, round_away, is_finite.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"
#include "ops/elementwise/integer_math.h"

#include <cmath>

namespace tessera::inline v0::ops {

Value neg(Value x) { return x.builder->emit1("neg", {x}); }
Value abs(Value x) { return x.builder->emit1("abs", {x}); }
Value sign(Value x) { return x.builder->emit1("sign", {x}); }
Value floor(Value x) { return x.builder->emit1("floor", {x}); }
Value ceil(Value x) { return x.builder->emit1("ceil", {x}); }
Value round_nearest_even(Value x) { return x.builder->emit1("round_nearest_even", {x}); }
Value round_away(Value x) { return x.builder->emit1("round_away", {x}); }
Value is_finite(Value x) { return x.builder->emit1("is_finite", {x}); }

namespace {

constexpr const char* kConstant = "its derivative is zero wherever it exists";

Op make_neg() {
  Op op = arith_op(Arith::neg, "neg", "negate", "-x. Integers wrap around.", 1, Accepts::numeric);
  op.exact = true;
  op.simplify = [](const SimplifyArgs& a) {
    Simplified s;
    if (const Equation* inner = a.around.same_op(a.eqn.inputs[0])) s.same = inner->inputs[0];
    return s;
  };
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    return {a.tangents[0] ? MaybeValue(neg(*a.tangents[0])) : std::nullopt};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    return {a.cotangents[0] ? MaybeValue(neg(*a.cotangents[0])) : std::nullopt};
  };
  op.evaluate = evaluate_numeric<1>([](auto x) {
    if constexpr (kRounds<decltype(x)>)
      return -x;
    else
      return wrap_neg(x);
  });
  return op;
}

Op make_abs() {
  Op op = arith_op(Arith::abs, "abs", "abs",
                   "|x|, real where x is complex; the least integer gives itself. The derivative "
                   "at 0 is 1, of complex numbers 0.",
                   1, Accepts::numeric, 0.25, 2);
  op.exact = true;
  op.waived["updates"] = "the size of a state is another value";
  op.infer = [](const InferArgs& a) {
    check_dtypes(a, a.inputs, Accepts::numeric);
    const Type& x = a.inputs[0];
    return std::vector<Type>{Type(real_dtype(x.dtype), x.shape, x.weak)};
  };
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    if (!a.tangents[0]) return {std::nullopt};
    Value t = *a.tangents[0], x = a.inputs[0];
    if (is_complex(x.dtype())) {  // the component of the tangent along x; 0 at 0
      Value size = a.outputs[0];
      size = select(eq(size, like(size, 0)), like(size, 1), size);
      return {real(mul(t, div(conj(x), convert(size, x.dtype(), x.type().weak))))};
    }
    return {select(ge(x, like(x, 0)), t, neg(t))};
  };
  op.waived["transpose"] = "its derivative is a select";
  op.evaluate = [real = evaluate_real_numeric<1>([](auto x) {
                   if constexpr (std::is_floating_point_v<decltype(x)>)
                     return std::fabs(x);
                   else
                     return x < 0 ? wrap_neg(x) : x;
                 })](const EvalArgs& a) {
    auto sizes = [&]<class T>(T) {
      for (std::int64_t i = 0; i < a.outputs[0].count(); ++i)
        a.outputs[0].data<T>()[i] = magnitude(a.inputs[0].data<std::complex<T>>()[i]);
    };
    if (a.inputs[0].dtype == DType::complex64)
      sizes(float{});
    else if (a.inputs[0].dtype == DType::complex128)
      sizes(double{});
    else
      real(a);
  };
  return op;
}

Op make_sign() {
  Op op = arith_op(Arith::sign, "sign", "sign",
                   "-1, 0 or 1 by the sign of x; of a float zero or NaN, x itself; x / |x| of a "
                   "complex number.",
                   1, Accepts::numeric, 0.25, 2);
  op.exact = true;
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    if (!a.tangents[0] || !is_complex(a.inputs[0].dtype())) return {std::nullopt};
    // The component of the tangent that rotates x, without the one that stretches it.
    Value t = *a.tangents[0], s = a.outputs[0], size = abs(a.inputs[0]), none = like(size, 0);
    Value zero = eq(size, none);
    auto widened = [&](Value v) { return convert(v, s.dtype(), s.type().weak); };
    Value turned = sub(t, mul(s, widened(real(mul(conj(s), t)))));
    turned = div(turned, widened(select(zero, like(size, 1), size)));
    return {select(zero, like(turned, 0), turned)};
  };
  op.waived["transpose"] = "its derivative is zero, of complex numbers a sum of products";
  op.evaluate = evaluate_numeric<1>([](auto x) {
    using T = decltype(x);
    if constexpr (is_complex_v<T>) {
      const auto size = magnitude(x);
      return size == 0 ? x : T(x.real() / size, x.imag() / size);
    } else {
      if (x > 0) return T(1);
      if (x < 0) return static_cast<T>(-1);
      return x;
    }
  });
  return op;
}

template <class F>
Op make_rounding(Arith arith, std::string name, std::string stablehlo, std::string doc, F f) {
  Op op = arith_op(arith, std::move(name), std::move(stablehlo), std::move(doc), 1,
                   Accepts::floating, 0.55, 0.95);
  op.exact = true;
  op.jvp = no_tangent();
  op.waived["transpose"] = kConstant;
  op.evaluate = evaluate_floating<1>(f);
  return op;
}

Op make_is_finite() {
  Op op = arith_op(Arith::is_finite, "is_finite", "is_finite",
                   "Whether x is neither infinite nor NaN, nor a part of it.", 1, Accepts::inexact);
  op.exact = true;
  op.infer = [](const InferArgs& a) {
    check_dtypes(a, a.inputs, Accepts::inexact);
    return std::vector<Type>{Type(DType::boolean, a.inputs[0].shape)};
  };
  op.jvp = no_tangent();
  op.waived["transpose"] = kConstant;
  op.evaluate = evaluate_predicate<1>([](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return std::isfinite(x);
    else if constexpr (is_complex_v<decltype(x)>)
      return std::isfinite(x.real()) && std::isfinite(x.imag());
    else
      return true;
  });
  return op;
}

}  // namespace

void register_arithmetic_unary(Registry& r) {
  Op neg = make_neg(), abs = make_abs(), sign = make_sign();
  Op floor =
      make_rounding(Arith::floor, "floor", "floor", "The greatest integer that is not more than x.",
                    [](auto x) { return std::floor(x); });
  Op ceil = make_rounding(Arith::ceil, "ceil", "ceil", "The least integer that is not less than x.",
                          [](auto x) { return std::ceil(x); });
  Op even = make_rounding(Arith::round_nearest_even, "round_nearest_even", "round_nearest_even",
                          "The nearest integer; of two, the even one.", [](auto x) {
                            auto down = std::floor(x), rest = x - down;
                            if (rest == decltype(x)(0.5))
                              return std::copysign(2 * std::floor(x / 2 + decltype(x)(0.5)), x);
                            return std::copysign(rest < decltype(x)(0.5) ? down : down + 1, x);
                          });
  Op away = make_rounding(Arith::round_away, "round_away", "round_nearest_afz",
                          "The nearest integer; of two, the one away from zero.",
                          [](auto x) { return std::round(x); });
  Op finite = make_is_finite();
  add_all(r, neg, abs, sign, floor, ceil, even, away, finite);
}

}  // namespace tessera::inline v0::ops
