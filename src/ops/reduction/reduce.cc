// reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or.
#include "ops/reduction/reduce.h"

#include "ops/elementwise/integer_math.h"

#include <cmath>
#include <limits>

namespace tessera::inline v0::ops {

Value reduce_sum(Value x, const Ints& axes) { return reduce_over("reduce_sum", x, axes); }
Value reduce_prod(Value x, const Ints& axes) { return reduce_over("reduce_prod", x, axes); }
Value reduce_max(Value x, const Ints& axes) { return reduce_over("reduce_max", x, axes); }
Value reduce_min(Value x, const Ints& axes) { return reduce_over("reduce_min", x, axes); }
Value reduce_and(Value x, const Ints& axes) { return reduce_over("reduce_and", x, axes); }
Value reduce_or(Value x, const Ints& axes) { return reduce_over("reduce_or", x, axes); }

namespace {

// Sums and products of floats accumulate in double: the evaluator is the oracle, so it is more
// accurate.
template <class T>
using Accumulator =
    std::conditional_t<kFloating<T>, double,
                       std::conditional_t<is_complex_v<T>, std::complex<double>, T>>;

Op make_sum() {
  Op op = reduction_op(
      "reduce_sum",
      "The sum over `axes`. 16-bit floats accumulate in float32; integers wrap around; an empty "
      "sum is 0.",
      Accepts::numeric, Combiner::add,
      {Arith::add, [](Emitter& e, DType d) { return e.constant(d, std::int64_t{0}); }, true});
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    if (!a.tangents[0]) return {std::nullopt};
    return {reduce_sum(*a.tangents[0], a.attrs.ints("axes"))};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    return {unreduce(*a.cotangents[0], a.types[0].shape, a.attrs.ints("axes"))};
  };
  op.evaluate = evaluate_reduction<Accumulator, true>([](auto) { return 0; },
                                                      [](auto acc, auto x) {
                                                        if constexpr (kRounds<decltype(acc)>)
                                                          return acc + x;
                                                        else
                                                          return wrap_add(acc, x);
                                                      });
  return op;
}

// The derivative of a product with respect to a factor is the product of the others. Dividing the
// product by the factor fails at zeros, so the tangent is carried through a tree of pairwise
// products instead: (x, dx)(y, dy) = (xy, x dy + dx y).
MaybeValues prod_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return {std::nullopt};
  const Ints& axes = a.attrs.ints("axes");
  Value x = reduced_last(a.inputs[0], axes), t = reduced_last(*a.tangents[0], axes);
  int last = x.rank() - 1;
  if (x.shape()[last] == 0) return {std::nullopt};
  auto part = [&](Value v, std::int64_t from, std::int64_t to) {
    Ints start(static_cast<std::size_t>(last) + 1, 0), limit = v.shape().to_vector(),
                                                       ones(start.size(), 1);
    start.back() = from;
    limit.back() = to;
    return slice(v, start, limit, ones);
  };
  while (x.shape()[last] > 1) {
    std::int64_t n = x.shape()[last], half = n / 2;
    Value x1 = part(x, 0, half), x2 = part(x, half, 2 * half), t1 = part(t, 0, half),
          t2 = part(t, half, 2 * half);
    Value xx = mul(x1, x2), tt = add(mul(x1, t2), mul(t1, x2));
    if (n % 2) {
      xx = concatenate(Values{xx, part(x, n - 1, n)}, last);
      tt = concatenate(Values{tt, part(t, n - 1, n)}, last);
    }
    x = xx, t = tt;
  }
  return {reshape(t, a.outputs[0].shape())};
}

Op make_prod() {
  Op op = reduction_op(
      "reduce_prod",
      "The product over `axes`. 16-bit floats accumulate in float32; integers wrap around; an "
      "empty product is 1.",
      Accepts::numeric, Combiner::mul,
      {Arith::mul, [](Emitter& e, DType d) { return e.constant(d, std::int64_t{1}); }, true});
  op.jvp = prod_jvp;
  op.waived["transpose"] = "its derivative is a tree of products";
  op.evaluate = evaluate_reduction<Accumulator, true>([](auto) { return 1; },
                                                      [](auto acc, auto x) {
                                                        if constexpr (kRounds<decltype(acc)>)
                                                          return times(acc, x);
                                                        else
                                                          return wrap_mul(acc, x);
                                                      });
  return op;
}

// The derivative is shared equally among tied elements; NaN elements are tied.
MaybeValues extremum_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return {std::nullopt};
  const Ints& axes = a.attrs.ints("axes");
  Value x = a.inputs[0], t = *a.tangents[0];
  Value chosen = eq(x, unreduce(a.outputs[0], x.shape(), axes));
  if (is_floating(x.dtype())) chosen = or_(chosen, ne(x, x));
  Value count = reduce_sum(convert(chosen, x.dtype(), x.type().weak), axes);
  return {div(reduce_sum(select(chosen, t, like(t, 0)), axes), count)};
}

template <bool kMax, class T>
T extremum_identity() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) return !kMax;
  if constexpr (std::is_floating_point_v<T>) return kMax ? -L::infinity() : L::infinity();
  return kMax ? L::min() : L::max();
}

template <bool kMax>
Lane emit_extremum_identity(Emitter& e, DType d) {
  return dispatch_real(d, [&](auto tag) {
    auto identity = extremum_identity<kMax, Wide<decltype(tag)>>();
    if constexpr (std::is_floating_point_v<decltype(identity)>)
      return e.constant(d, static_cast<double>(identity));
    else
      return e.constant(d, static_cast<std::int64_t>(identity));
  });
}

template <bool kMax>
Op make_reduce_extremum() {
  Op op = reduction_op(
      kMax ? "reduce_max" : "reduce_min",
      std::string("The ") + (kMax ? "greatest" : "least") +
          " element over `axes`; NaN where there is one. Of nothing it is the " +
          (kMax ? "least" : "greatest") + " value of the dtype (an infinity where it has one).",
      Accepts::ordered, kMax ? Combiner::max : Combiner::min,
      {kMax ? Arith::max : Arith::min,
       [](Emitter& e, DType d) { return emit_extremum_identity<kMax>(e, d); }, false});
  op.jvp = extremum_jvp;
  op.waived["transpose"] = "its derivative is a sum of selected elements over a count";
  op.evaluate = evaluate_reduction<Wide, false>(
      [](auto tag) { return extremum_identity<kMax, Wide<decltype(tag)>>(); },
      [](auto acc, auto x) {
        if constexpr (std::is_floating_point_v<decltype(acc)>) {
          if (acc != acc || x != x) return acc != acc ? acc : static_cast<decltype(acc)>(x);
          if (acc == x) return std::signbit(acc) == kMax ? static_cast<decltype(acc)>(x) : acc;
        }
        return (acc < x) == kMax ? static_cast<decltype(acc)>(x) : acc;
      });
  return op;
}

template <bool kAnd>
Op make_bitwise() {
  Op op = reduction_op(
      kAnd ? "reduce_and" : "reduce_or",
      std::string("The bitwise ") + (kAnd ? "and" : "or") +
          " over `axes`, logical of booleans; of nothing it is " + (kAnd ? "all ones." : "zero."),
      Accepts::integral, kAnd ? Combiner::and_ : Combiner::or_,
      {kAnd ? Arith::and_ : Arith::or_,
       [](Emitter& e, DType d) {
         return e.constant(d, std::int64_t{kAnd ? (d == DType::boolean ? 1 : -1) : 0});
       },
       false});
  op.jvp = no_tangent();
  op.waived["transpose"] = "integers and booleans have no derivative";
  op.evaluate = evaluate_reduction<Wide, false>(
      [](auto tag) { return kAnd ? (std::is_same_v<decltype(tag), bool> ? 1 : -1) : 0; },
      [](auto acc, auto x) {
        using A = decltype(acc);
        if constexpr (std::is_integral_v<A>)
          return static_cast<A>(kAnd ? acc & x : acc | x);
        else
          return acc;  // rejected by infer
      });
  return op;
}

// The sum over axes of size 1 is an addition to 0, which turns -0 into +0. As an elementwise op it
// lets the kernels before and after it be fused, which a reduction would prevent.
std::optional<Values> sum_of_lone(const DecomposeArgs& a) {
  const Value x = a.inputs[0];
  for (const std::int64_t axis : a.attrs.ints("axes"))
    if (x.shape()[static_cast<std::size_t>(axis)] != 1) return std::nullopt;
  Shape shape;
  for (const auto d : kept_dims(x.rank(), a.attrs.ints("axes")))
    shape.push_back(x.shape()[static_cast<std::size_t>(d)]);
  const Value y = reshape(x, shape);
  return Values{add(y, like(y, 0))};
}

}  // namespace

void register_reduce(Registry& r) {
  Op sum = make_sum(), prod = make_prod(), max = make_reduce_extremum<true>(),
     min = make_reduce_extremum<false>();
  sum.decompose = sum_of_lone;
  Op and_op = make_bitwise<true>(), or_op = make_bitwise<false>();
  add_all(r, sum, prod, max, min, and_op, or_op);
}

}  // namespace tessera::inline v0::ops
