// reduce_precision.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::inline v0::ops {

Value reduce_precision(Value x, int exponent_bits, int mantissa_bits) {
  return x.builder->emit1("reduce_precision", {x},
                          {{"exponent_bits", std::int64_t{exponent_bits}},
                           {"mantissa_bits", std::int64_t{mantissa_bits}}});
}

namespace {

/// The bits of the dtype's exponent and mantissa, and how many of each are kept.
struct Format {
  int exponent, mantissa, kept_exponent, kept_mantissa;
};
Format format_of(DType d, const Attrs& attrs) {
  const int mantissa = d == DType::float64    ? 52
                       : d == DType::float32  ? 23
                       : d == DType::bfloat16 ? 7
                                              : 10;
  const int exponent = 8 * size_of(d) - 1 - mantissa;
  return {exponent, mantissa,
          static_cast<int>(std::min<std::int64_t>(exponent, attrs.i("exponent_bits"))),
          static_cast<int>(std::min<std::int64_t>(mantissa, attrs.i("mantissa_bits")))};
}

std::vector<Type> reduce_precision_infer(const InferArgs& a) {
  check_dtypes(a, a.inputs, Accepts::floating);
  const std::int64_t exponent = a.attrs.i("exponent_bits"), mantissa = a.attrs.i("mantissa_bits");
  if (exponent < 1 || mantissa < 0)
    Message(a.op.name)
        .problem("a float of " + std::to_string(exponent) + " exponent bits and " +
                 std::to_string(mantissa) + " mantissa bits")
        .rule("at least one exponent bit, and no fewer than zero mantissa bits")
        .from(a.loc)
        .advice("8 and 7 are bfloat16's, 5 and 10 those of float16")
        .raise<Error>();
  return {a.inputs[0]};
}

// Uses arithmetic where the emitted form uses bits: rounds to a multiple of the unit in the last
// place, ties to even, then applies the limits of the range. Subnormal numbers have the unit of the
// smallest normal number.
template <class T>
T reduced_to(T x, const Format& f) {
  if (!std::isfinite(x) || x == 0) return x;
  const int least = 2 - (1 << (f.exponent - 1));  // exponent of the smallest normal number
  const int unit = std::max(std::ilogb(x), least) - f.kept_mantissa;
  T r = x;
  if (f.kept_mantissa < f.mantissa) {
    T digits = std::nearbyint(std::ldexp(x, -unit));
    // Without a mantissa, ties go to the even exponent.
    const bool tie = f.kept_mantissa == 0 && std::ldexp(std::fabs(x), -unit) == T(1.5);
    if (tie && (unit - least) % 2 != 0) digits = std::copysign(T(1), x);
    r = std::ldexp(digits, unit);
  }
  const int greatest = (1 << (f.kept_exponent - 1)) - 1;
  if (std::isinf(r) || std::ilogb(r) > greatest)
    return std::copysign(std::numeric_limits<T>::infinity(), x);
  if (f.kept_exponent < f.exponent && (r == 0 || std::ilogb(r) < 1 - greatest))
    return std::copysign(T(0), x);
  return r;
}

Lane reduce_precision_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  const Lane x = e.operand(0, at);
  const DType d = x.dtype, word = unsigned_of(d);
  const Format f = format_of(d, eqn.attrs);
  auto k = [&](std::uint64_t v) { return e.constant(word, static_cast<std::int64_t>(v)); };
  Lane bits = e.bitcast(x, word);
  if (const int dropped = f.mantissa - f.kept_mantissa; dropped > 0) {
    Lane odd = e.binary(
        Arith::and_,
        e.binary(Arith::shift_right_logical, bits, k(static_cast<std::uint64_t>(dropped))), k(1));
    Lane half = e.binary(Arith::add, odd, k((std::uint64_t{1} << (dropped - 1)) - 1));
    bits = e.binary(Arith::and_, e.binary(Arith::add, bits, half),
                    k(~((std::uint64_t{1} << dropped) - 1)));
  }
  if (f.kept_exponent < f.exponent) {
    const std::uint64_t exponents = ((std::uint64_t{1} << f.exponent) - 1) << f.mantissa;
    const std::uint64_t bias = (std::uint64_t{1} << (f.exponent - 1)) - 1,
                        kept = (std::uint64_t{1} << (f.kept_exponent - 1)) - 1;
    Lane exponent = e.binary(Arith::and_, bits, k(exponents));
    Lane zero = e.binary(Arith::and_, bits, k(std::uint64_t{1} << (f.exponent + f.mantissa)));
    Lane above = e.binary(Arith::gt, exponent, k((bias + kept) << f.mantissa));
    Lane below = e.binary(Arith::le, exponent, k((bias - kept) << f.mantissa));
    bits = e.select(above, e.binary(Arith::or_, zero, k(exponents)), bits);
    bits = e.select(below, zero, bits);
  }
  return e.select(e.binary(Arith::ne, x, x), x, e.bitcast(bits, d));
}

}  // namespace

void register_reduce_precision(Registry& r) {
  Op op = elementwise_op(
      "reduce_precision", "reduce_precision",
      "x rounded to nearest even as a float of `exponent_bits` and `mantissa_bits` holds it, in "
      "its "
      "own dtype: what is too great becomes infinite, what is below that float's least normal "
      "number zero (where it has fewer exponent bits than x), NaN stays. The derivative is rounded "
      "as x is.",
      1, Accepts::floating, 0.5, 2);
  op.attrs = {{"exponent_bits", AttrKind::integer, "of the exponent, at least 1"},
              {"mantissa_bits", AttrKind::integer, "after the point"}};
  op.exact = true;
  op.cost = pointwise_cost(6);
  op.infer = reduce_precision_infer;
  auto same = [](Value v, const Attrs& attrs) {
    return reduce_precision(v, static_cast<int>(attrs.i("exponent_bits")),
                            static_cast<int>(attrs.i("mantissa_bits")));
  };
  op.jvp = [same](const JvpArgs& a) -> MaybeValues {
    return {a.tangents[0] ? MaybeValue(same(*a.tangents[0], a.attrs)) : std::nullopt};
  };
  op.transpose = [same](const TransposeArgs& a) -> MaybeValues {
    return {a.cotangents[0] ? MaybeValue(same(*a.cotangents[0], a.attrs)) : std::nullopt};
  };
  op.evaluate = [](const EvalArgs& a) {
    const Format f = format_of(a.inputs[0].dtype, a.attrs);
    evaluate_floating<1>([f](auto x) { return reduced_to(x, f); })(a);
  };
  op.emit = reduce_precision_emit;
  op.waived["updates"] = "the rounded state is another value";
  op.examples = [] {
    std::vector<OpExample> examples;
    auto add = [&](Type t, std::int64_t exponent, std::int64_t mantissa) {
      OpExample e{{std::move(t)}, {{"exponent_bits", exponent}, {"mantissa_bits", mantissa}}};
      e.lo = 0.5, e.hi = 2;
      e.no_numeric_derivative = "the function is a staircase";
      examples.push_back(std::move(e));
    };
    add(Type(DType::float32, {2, 3}), 5, 10);
    add(Type(DType::bfloat16, {4}), 5, 3);
    add(Type(DType::float64, {3}), 8, 23);
    add(Type(DType::float16, {5}), 3, 4);
    return examples;
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
