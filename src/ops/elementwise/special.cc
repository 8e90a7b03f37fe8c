// lgamma and digamma.
//
// Kernels compute digamma in double whatever the dtype; the evaluators use long double and longer
// sums.
#include "ops/elementwise/special.h"

#include "ops/elementwise/doubles.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <cmath>
#include <numbers>

namespace tessera::inline v0::ops {

Value lgamma(Value x) { return x.builder->emit1("lgamma", {x}); }
Value digamma(Value x) { return x.builder->emit1("digamma", {x}); }
namespace {

// The positive root of digamma as a sum of two doubles, and the power series of digamma(x) / (x -
// root) around it, highest power first: the coefficient of (x - root)^k is (-1)^k zeta(k + 2,
// root).
constexpr double kRoot = 1.4616321449683622, kRootRest = 9.549995429965697e-17;
constexpr double kAroundRoot[] = {
    5.446941930669446e-07,   -7.96142543124197e-07,  1.1636675363548843e-06,
    -1.7008538854332607e-06, 2.486022733129538e-06,  -3.6336507898010456e-06,
    5.3110609208898636e-06,  -7.762817668462094e-06, 1.134638458466385e-05,
    -1.6584242271854135e-05, 2.424006611860132e-05,  -3.5430070947659604e-05,
    5.178575795222081e-05,   -7.569179582195066e-05, 0.0001106337276874741,
    -0.00016170622091974803, 0.00023635601564027053, -0.0003454680251063077,
    0.000504953265834602,    -0.0007380709389960052, 0.0010788252019162967,
    -0.0015769367714301972,  0.002305126326734928,   -0.003369801655439328,
    0.004926781395729853,    -0.007204534386356869,  0.010538791616612175,
    -0.01542476590494896,    0.022597648232218104,   -0.03316112647484736,
    0.04880428816414311,     -0.07219956125645471,   0.10782405069126237,
    -0.16394270544240652,    0.258499760955651,      -0.4427631689835921,
    0.9676722454476212};
// -B(2k) / 2k for k = 1, 2, ..., for the asymptotic series, where B are the Bernoulli numbers.
constexpr double kAsymptotic[] = {-1.0 / 12,        1.0 / 120,      -1.0 / 252, 1.0 / 240,
                                  -1.0 / 132,       691.0 / 32760,  -1.0 / 12,  3617.0 / 8160,
                                  -43867.0 / 14364, 174611.0 / 6600};

long double exact_digamma(long double x) {
  constexpr long double pi = std::numbers::pi_v<long double>;
  if (x <= 0) {
    if (x == std::floor(x)) return kNan;
    return exact_digamma(1 - x) - pi / std::tan(pi * (x - std::round(x)));
  }
  if (x > 1 && x < 2) {
    long double r = 0;
    const long double t = (x - kRoot) - kRootRest;
    for (double c : kAroundRoot) r = r * t + c;
    return r * t;
  }
  long double shifted = 0;
  for (; x < 24; ++x) shifted += 1 / x;
  long double series = 0, square = 1 / (x * x);
  for (int k = 9; k >= 0; --k) series = (series + kAsymptotic[k]) * square;
  return std::log(x) - 1 / (2 * x) + series - shifted;
}

// digamma(x + lost) for a positive x below 8: moves x into [1, 2] in steps of one, then uses the
// series around the root.
Lane near_root(const Doubles& m, Lane x, Lane lost) {
  Emitter& e = m.e;
  const Lane one = m.number(1), two = m.number(2), zero = m.number(0);
  const Lane small = e.binary(Arith::lt, x, one);
  Lane steps = e.select(small, m.over(-1, x), zero);
  x = e.select(small, m.add(x, one), x);
  for (int k = 0; k < 6; ++k) {
    const Lane above = e.binary(Arith::gt, x, two), less = m.sub(x, one);
    steps = e.select(above, m.add(steps, m.over(1, less)), steps);
    x = e.select(above, less, x);
  }
  const Lane t = m.add(m.sub(x, m.number(kRoot)), m.sub(lost, m.number(kRootRest)));
  Lane series = m.number(0);
  for (double c : kAroundRoot) series = m.add(m.mul(series, t), m.number(c));
  return m.add(m.mul(t, series), steps);
}

Lane far_from_root(const Doubles& m, Lane x) {
  const Lane inverse = m.over(1, x), square = m.mul(inverse, inverse);
  Lane series = m.number(0);
  for (int k = 9; k >= 0; --k) series = m.mul(m.add(series, m.number(kAsymptotic[k])), square);
  const Lane rest = m.sub(series, m.mul(m.number(0.5), inverse));
  return m.add(m.e.unary(Arith::log, x), rest);
}

// pi cot(pi x), computed from the tangent of an angle of at most pi / 4.
Lane turned_cotangent(const Doubles& m, Lane x) {
  Emitter& e = m.e;
  const Lane rest = m.sub(x, e.unary(Arith::round_nearest_even, x));
  const Lane size = e.unary(Arith::abs, rest);
  const Lane wide = e.binary(Arith::gt, size, m.number(0.25));
  const Lane angle = e.select(wide, m.sub(m.number(0.5), size), size);
  const Lane t = e.unary(Arith::tan, m.mul(m.number(std::numbers::pi), angle));
  const Lane r = m.mul(m.number(std::numbers::pi), e.select(wide, t, m.over(1, t)));
  return e.select(e.binary(Arith::lt, rest, m.number(0)), e.unary(Arith::neg, r), r);
}

Lane emit_digamma(Emitter& e, const Equation&, int, std::span<const Index> at) {
  const Doubles m{e};
  const Lane given = e.operand(0, at), x = e.convert(given, DType::float64);
  const Lane reflected = e.binary(Arith::le, x, m.number(0));
  // The rounding error of 1 - x matters where digamma is small.
  const Lane one = m.number(1), zero = m.number(0), mirror = m.sub(one, x);
  const Lane part = m.sub(mirror, one);
  const Lane lost = m.sub(m.sub(one, m.sub(mirror, part)), m.add(x, part));
  const Lane y = e.select(reflected, mirror, x);
  Lane r = e.select(e.binary(Arith::lt, y, m.number(8)),
                    near_root(m, y, e.select(reflected, lost, zero)), far_from_root(m, y));
  const Lane pole = e.binary(Arith::eq, x, e.unary(Arith::floor, x));
  const Lane mirrored = e.select(pole, m.number(kNan), m.sub(r, turned_cotangent(m, x)));
  return e.convert(e.select(reflected, mirrored, r), given.dtype);
}

// Computes in double if x is narrower, because the library's float32 function overflows before its
// results do.
Lane emit_lgamma(Emitter& e, const Equation&, int, std::span<const Index> at) {
  const Lane x = e.operand(0, at);
  return e.convert(e.unary(Arith::lgamma, e.convert(x, DType::float64)), x.dtype);
}

Op make_lgamma() {
  Op op = smooth_op(
      Arith::lgamma, "lgamma", "chlo.lgamma",
      "The logarithm of the magnitude of the gamma function; infinite at zero, at the negative "
      "integers and at both infinities.",
      0.5, 4,
      [](auto x) {
        int sign = 0;  // the library's signgam is shared by all threads
        if constexpr (std::is_same_v<decltype(x), double>)
          return ::lgamma_r(x, &sign);
        else
          return ::lgammaf_r(x, &sign);
      },
      [](Value x, Value) { return digamma(x); });
  op.emit = emit_lgamma;
  return op;
}

Op make_digamma() {
  Op op = smooth_op(
      Arith::lgamma, "digamma", "chlo.digamma",
      "The derivative of lgamma; NaN at zero and at the negative integers.", 0.5, 4,
      [](auto x) { return static_cast<decltype(x)>(exact_digamma(x)); },
      [](Value x, Value) { return polygamma(x, 1); });
  op.cost = pointwise_cost(120);
  op.emit = emit_digamma;
  return op;
}

}  // namespace

void register_special(Registry& r) {
  Op lgamma = make_lgamma(), digamma = make_digamma();
  add_all(r, lgamma, digamma);
}

}  // namespace tessera::inline v0::ops
