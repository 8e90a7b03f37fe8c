// polygamma.
//
// Kernels compute it in double whatever the dtype; the evaluators use long double and longer sums.
#include "ops/elementwise/doubles.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"
#include "ops/elementwise/special.h"

#include <cmath>
#include <limits>
#include <vector>

namespace tessera::inline v0::ops {

Value polygamma(Value x, std::int64_t n) {
  return n == 0 ? digamma(x) : x.builder->emit1("polygamma", {x}, {{"order", n}});
}

namespace {

// B(2k) / (2k)! for k = 1, 2, ..., where B are the Bernoulli numbers.
constexpr double kEulerMaclaurin[] = {
    0.08333333333333333,   -0.001388888888888889,  3.306878306878307e-05,  -8.267195767195768e-07,
    2.08767569878681e-08,  -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
    8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18};

// The Euler-Maclaurin sum of the Hurwitz zeta function at order + 1, times order!.
long double exact_polygamma(long double x, std::int64_t order) {
  if (!(x >= 0)) return kNan;
  const auto s = static_cast<long double>(order + 1);
  long double sum = 0, factorial = order % 2 ? 1 : -1;
  for (std::int64_t k = 2; k <= order; ++k) factorial *= static_cast<long double>(k);
  for (int k = 0; k < 32; ++k) sum += std::pow(x + k, -s);
  const long double a = x + 32;
  if (std::isinf(a)) return 0 * factorial;
  sum += std::pow(a, 1 - s) / (s - 1) + std::pow(a, -s) / 2;
  long double rising = s;
  for (int j = 0; j < 11; ++j) {
    sum += kEulerMaclaurin[j] * rising * std::pow(a, -s - 2 * j - 1);
    rising *= (s + 2 * j + 1) * (s + 2 * j + 2);
  }
  return factorial * sum;
}

// A double and its rounding error, relative to the value.
struct Inexact {
  Lane value, part;
};

// The rounding error of the product p of x and y (T. J. Dekker, Numer. Math. 18 (1971)).
Lane lost_in_product(const Doubles& m, Lane x, Lane y, Lane p) {
  const auto high = [&](Lane v) {
    const Lane t = m.mul(v, m.number(0x1.0000002p27));
    return m.sub(t, m.sub(t, v));
  };
  const Lane a = high(x), b = high(y), c = m.sub(x, a), d = m.sub(y, b);
  const Lane cross = m.add(m.add(m.sub(m.mul(a, b), p), m.mul(a, d)), m.mul(c, b));
  return m.add(cross, m.mul(c, d));
}
Inexact product(const Doubles& m, const Inexact& x, const Inexact& y) {
  const Lane p = m.mul(x.value, y.value);
  const Lane lost = m.e.binary(Arith::div, lost_in_product(m, x.value, y.value, p), p);
  return {p, m.add(m.add(x.part, y.part), lost)};
}
// ((x + k) scale) ** -n, where scale is a power of two. Rounding errors are ignored if the power
// leaves the range of double.
Lane inverse_power(const Doubles& m, Lane x, int k, std::int64_t n, double scale) {
  const Lane a = m.add(x, m.number(k)), part = m.sub(a, x);
  const Lane lost = m.add(m.sub(x, m.sub(a, part)), m.sub(m.number(k), part));
  Inexact square{m.mul(a, m.number(scale)), m.e.binary(Arith::div, lost, a)}, r = square;
  for (bool first = true; n > 0; n /= 2) {
    if (n % 2) r = first ? square : product(m, r, square), first = false;
    if (n > 1) square = product(m, square, square);
  }
  const Lane inverse = m.over(1, r.value);
  const Lane back = m.mul(inverse, r.value), one = m.number(1);
  const Lane rest =
      m.sub(m.sub(m.sub(one, back), lost_in_product(m, inverse, r.value, back)), r.part);
  const Lane small = m.e.binary(Arith::lt, m.e.unary(Arith::abs, rest), m.number(0x1p-30));
  return m.e.select(small, m.add(inverse, m.mul(inverse, rest)), inverse);
}

// The Euler-Maclaurin sum (DLMF 25.11.5), with the rounding error of each addition compensated.
Lane emit_polygamma(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  const Doubles m{e};
  const std::int64_t n = eqn.attrs.i("order");
  const Lane given = e.operand(0, at), x = e.convert(given, DType::float64);
  // n! scale^(n + 1), with a scale that keeps it near 1, so that powers leave the range of double
  // no earlier than the result does.
  int exponent = 0;
  double factorial = n % 2 ? 1 : -1;
  for (std::int64_t k = 2; k <= n; ++k) factorial *= static_cast<double>(k);
  std::frexp(factorial, &exponent);
  const int step = exponent / static_cast<int>(n + 1);
  const double scale = std::ldexp(1.0, -step);
  factorial = std::ldexp(factorial, -step * static_cast<int>(n + 1));
  constexpr int kTerms = 12;
  const Lane a = m.add(x, m.number(kTerms)), inverse = m.over(1, a);
  const Lane square = m.mul(inverse, inverse);
  const auto s = static_cast<double>(n + 1);
  // Starts with the smallest terms.
  Lane tail = m.number(0), lost = m.number(0);
  std::vector<double> rising{s};
  for (int j = 0; j < 10; ++j) rising.push_back(rising.back() * (s + 2 * j + 1) * (s + 2 * j + 2));
  for (int j = 10; j >= 0; --j)
    tail = m.mul(m.add(tail, m.number(kEulerMaclaurin[j] * rising[static_cast<std::size_t>(j)])),
                 square);
  tail = m.add(m.number(1 / (s - 1)), m.add(m.mul(m.number(0.5), inverse), tail));
  // This factor has one power less than the other terms, so the tail is divided by the scale.
  Lane sum = m.mul(inverse_power(m, x, kTerms, n, scale), m.mul(tail, m.number(1 / scale)));
  for (int k = kTerms - 1; k >= 0; --k) {
    const Lane term = inverse_power(m, x, k, n + 1, scale), next = m.add(sum, term);
    const Lane part = m.sub(next, sum);
    lost = m.add(lost, m.add(m.sub(sum, m.sub(next, part)), m.sub(term, part)));
    sum = next;
  }
  const Lane finite = e.binary(Arith::lt, sum, m.number(std::numeric_limits<double>::infinity()));
  sum = e.select(finite, m.add(sum, lost), sum);
  const Lane r = m.mul(m.number(factorial), sum);
  const Lane inside = e.binary(Arith::ge, x, m.number(0));
  return e.convert(e.select(inside, r, m.number(kNan)), given.dtype);
}

Op make_polygamma() {
  Op op = elementwise_op("polygamma", "chlo.polygamma",
                         "The derivative of digamma of an order of at least 1; infinite at 0, NaN "
                         "below.",
                         1, Accepts::floating, 0.5, 4);
  op.attrs = {{"order", AttrKind::integer, "how often digamma is differentiated, 1 to 100"}};
  op.cheap = false;
  op.cost = pointwise_cost(120);
  op.infer = [](const InferArgs& a) {
    check_dtypes(a, a.inputs, Accepts::floating);
    const std::int64_t n = a.attrs.i("order");
    if (n < 1 || n > 100)
      Message(a.op.name)
          .problem("an order of " + std::to_string(n))
          .rule("orders are from 0, digamma itself, to 100")
          .from(a.loc)
          .advice("1 is the derivative of digamma")
          .raise<Error>();
    return std::vector<Type>{a.inputs[0]};
  };
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    if (!a.tangents[0]) return {std::nullopt};
    return {mul(*a.tangents[0], polygamma(a.inputs[0], a.attrs.i("order") + 1))};
  };
  op.waived["transpose"] = "its derivative is a product";
  op.evaluate = [](const EvalArgs& a) {
    const std::int64_t n = a.attrs.i("order");
    evaluate_floating<1>([n](auto x) { return static_cast<decltype(x)>(exact_polygamma(x, n)); })(
        a);
  };
  op.emit = emit_polygamma;
  op.examples = [] {
    std::vector<OpExample> examples;
    auto add = [&](Type t, std::int64_t n) {
      OpExample e{{std::move(t)}, {{"order", n}}};
      e.lo = 0.5, e.hi = 4;
      examples.push_back(std::move(e));
    };
    add(Type(DType::float32, {2, 3}), 1);
    add(Type(DType::float64, {4}), 3);
    add(Type(DType::bfloat16, {3}), 2);
    return examples;
  };
  return op;
}

}  // namespace

void register_polygamma(Registry& r) {
  Op polygamma = make_polygamma();
  add_all(r, polygamma);
}

}  // namespace tessera::inline v0::ops
