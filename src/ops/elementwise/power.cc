// sqrt, rsqrt, cbrt, pow, integer_pow.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"
#include "ops/elementwise/integer_math.h"

#include <cmath>
#include <optional>

namespace tessera::inline v0::ops {

Value sqrt(Value x) { return x.builder->emit1("sqrt", {x}); }
Value rsqrt(Value x) { return x.builder->emit1("rsqrt", {x}); }
Value cbrt(Value x) { return x.builder->emit1("cbrt", {x}); }
Value pow(Value x, Value y) { return x.builder->emit1("pow", {x, y}); }
Value integer_pow(Value x, std::int64_t exponent) {
  return exponent == 1 ? x : x.builder->emit1("integer_pow", {x}, {{"exponent", exponent}});
}

namespace {

// x^exponent for exponent >= 1 by repeated squaring, low bits first, so that evaluator and emitter
// multiply in the same order.
template <class N, class Mul>
N power(N x, std::uint64_t exponent, Mul mul) {
  std::optional<N> acc;
  for (;; x = mul(x, x)) {
    if (exponent & 1) acc = acc ? mul(*acc, x) : x;
    if ((exponent >>= 1) == 0) return *acc;
  }
}
std::uint64_t unsigned_magnitude(std::int64_t e) {
  return e < 0 ? -static_cast<std::uint64_t>(e) : static_cast<std::uint64_t>(e);
}

Op make_pow() {
  Op op = arith_op(Arith::pow, "pow", "power",
                   "x to the power y, as IEEE pow: 1 where y is 0, NaN where x is negative and y "
                   "no integer. Of complex numbers exp(y log x), with the principal logarithm. "
                   "The derivative in x "
                   "is 0 where y is 0; that in y takes log(x) as 0 where x is 0.",
                   2, Accepts::inexact, 0.5, 2);
  op.cheap = false;
  op.cost = pointwise_cost(20);
  op.jvp = [](const JvpArgs& a) {
    Value x = a.inputs[0], y = a.inputs[1];
    MaybeValue dx, dy;
    if (a.tangents[0]) {
      // Where y is 0 the result is 0 and the branch not selected is finite, so that derivatives of
      // this are not NaN.
      Value none = eq(y, like(y, 0));
      Value less = select(none, like(y, 1), sub(y, like(y, 1)));
      dx = mul(*a.tangents[0], select(none, like(y, 0), mul(y, pow(x, less))));
    }
    if (a.tangents[1]) {
      Value safe = select(eq(x, like(x, 0)), like(x, 1), x);
      dy = mul(*a.tangents[1], mul(log(safe), a.outputs[0]));
    }
    return MaybeValues{plus(dx, dy)};
  };
  op.waived["transpose"] = "its derivative is a sum of products";
  op.evaluate = [floats = evaluate_floating<2>([](auto x, auto y) { return std::pow(x, y); })](
                    const EvalArgs& a) {
    is_complex(a.inputs[0].dtype) ? evaluate_complex<2>(a, Arith::pow) : floats(a);
  };
  return op;
}

Op make_integer_pow() {
  Op op = elementwise_op("integer_pow", "",
                         "x to the power `exponent` by repeated multiplication, low bits of the "
                         "exponent first; a negative "
                         "exponent gives 1 / x^-exponent and is for floats only.",
                         1, Accepts::numeric, 0.5, 2);
  op.waived = {{"stablehlo", "exported as multiplications"},
               {"transpose", "its derivative is a product"}};
  op.attrs = {{"exponent", AttrKind::integer, "any sign"}};
  op.infer = [](const InferArgs& a) {
    check_dtypes(a, a.inputs, Accepts::numeric);
    std::int64_t exponent = a.attrs.i("exponent");
    if (exponent < 0 && !is_inexact(a.inputs[0].dtype))
      Message(a.op.name)
          .problem("integers of dtype " + std::string(name_of(a.inputs[0].dtype)) +
                   " to the power " + std::to_string(exponent))
          .rule("integers have no negative powers")
          .from(a.loc)
          .advice("convert to float32 with astype")
          .raise<DTypeError>();
    return std::vector<Type>{a.inputs[0].weak ? Type(a.inputs[0].dtype, a.inputs[0].shape, true)
                                              : Type(a.inputs[0].dtype, a.inputs[0].shape)};
  };
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    std::int64_t n = a.attrs.i("exponent");
    if (!a.tangents[0] || n == 0) return {std::nullopt};
    Value x = a.inputs[0];
    if (n == 1) return {a.tangents[0]};
    if (n == INT64_MIN)
      return {mul(*a.tangents[0], mul(like(x, static_cast<double>(n)), div(a.outputs[0], x)))};
    Value scaled = n == 2 ? x : integer_pow(x, n - 1);
    return {mul(*a.tangents[0], mul(like(x, static_cast<double>(n)), scaled))};
  };
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
    int bits = 0;
    for (std::uint64_t m = unsigned_magnitude(attrs.i("exponent")); m; m >>= 1)
      bits += 1 + static_cast<int>(m & 1);
    return pointwise_cost(bits)(in, out, attrs);
  };
  op.evaluate = [](const EvalArgs& a) {
    std::int64_t n = a.attrs.i("exponent");
    evaluate_numeric<1>([n](auto x) {
      using T = decltype(x);
      if (n == 0) return T(1);
      T p = power(x, unsigned_magnitude(n), [](T u, T v) {
        if constexpr (kRounds<T>)
          return times(u, v);
        else
          return wrap_mul(u, v);
      });
      if constexpr (kRounds<T>)
        if (n < 0) return over(T(1), p);
      return p;
    })(a);
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    std::int64_t n = eqn.attrs.i("exponent");
    Lane x = e.operand(0, at);
    return through_float(e, x, [&](Lane v) {
      if (n == 0) return e.constant(v.dtype, std::int64_t{1});
      Lane p = power(v, unsigned_magnitude(n),
                     [&](Lane u, Lane w) { return e.binary(Arith::mul, u, w); });
      return n < 0 ? e.binary(Arith::div, e.constant(v.dtype, std::int64_t{1}), p) : p;
    });
  };
  op.examples = [] {
    std::vector<OpExample> examples;
    auto add = [&](const Type& t, std::int64_t n) {
      OpExample e;
      e.inputs = {t};
      e.attrs = {{"exponent", n}};
      e.lo = 0.5, e.hi = 2;
      examples.push_back(std::move(e));
    };
    for (std::int64_t n : {-3, -1, 0, 1, 2, 3, 10}) add(Type(DType::float32, {2, 3}), n);
    add(Type(DType::bfloat16, {4}), 3);
    for (std::int64_t n : {-2, 3}) add(Type(DType::complex64, {3}), n);
    add(Type(DType::int32, {4}), 5);
    return examples;
  };
  return op;
}

}  // namespace

void register_power(Registry& r) {
  Op sqrt = smooth_op(
      Arith::sqrt, "sqrt", "sqrt",
      "The square root of x; NaN below 0. The derivative at 0 is infinite.", 0.5, 2,
      [](auto x) { return std::sqrt(x); }, [](Value, Value y) { return div(like(y, 0.5), y); });
  sqrt.cheap = true;
  sqrt.exact = true;
  Op rsqrt = smooth_op(
      Arith::rsqrt, "rsqrt", "rsqrt", "1 / sqrt(x); inf at 0.", 0.5, 2,
      [](auto x) { return 1 / std::sqrt(x); },
      [](Value x, Value y) { return mul(like(x, -0.5), div(y, x)); });
  rsqrt.cheap = true;
  Op cbrt = smooth_op(
      Arith::cbrt, "cbrt", "cbrt", "The cube root of x, negative where x is.", 0.5, 2,
      [](auto x) { return static_cast<decltype(x)>(std::cbrt(static_cast<long double>(x))); },
      [](Value, Value y) { return mul(like(y, 1.0 / 3), integer_pow(y, -2)); });
  Op pow = make_pow(), integer_pow = make_integer_pow();
  add_all(r, sqrt, rsqrt, cbrt, pow, integer_pow);
}

}  // namespace tessera::inline v0::ops
