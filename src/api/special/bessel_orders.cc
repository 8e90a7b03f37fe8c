// The Bessel functions of the first kind, for all orders up to a given one.
#include "api/special/in_float64.h"

#include <tessera/control_flow.h>
#include <tessera/custom.h>
#include <tessera/stacking.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::in_float64;
using detail::part_of;
using detail::series;

namespace {
using In = std::span<const Array>;
using BesselPair = std::pair<Array, Array>;

constexpr double kFarBessel = 25;

// The power series in x^2 / 4 with coefficients (-1)^k order! / (k! (k + order)!) (DLMF 10.2.2).
Array bessel_by_powers(const Array& quarter, int order) {
  std::vector<double> c{1};
  for (int k = 1; k <= 14; ++k) c.push_back(-c.back() / (k * (k + order)));
  return series(quarter, c);
}
// Orders 0 and 1 for x >= 0: the power series below 1, Miller's algorithm up to 25 (DLMF 3.6,
// 10.12.4), whose intermediate values reach 1e110, and Hankel's expansion beyond (DLMF 10.17.3).
BesselPair first_orders(const Array& x) {
  const Array small = x<1.0, far = x> kFarBessel, tiny = where(small, x, 0.0);
  const Array quarter = 0.25 * tiny * tiny;
  const BesselPair near{bessel_by_powers(quarter, 0), 0.5 * tiny * bessel_by_powers(quarter, 1)};

  const Array at = where(small | far, 2.0, x), inverse = 2 / at;
  constexpr int kStart = 62;
  struct State {
    Array below, here, sum;
  };
  const State last = fori_loop(
      0, kStart / 2,
      [&](Array i, State s) {
        const Array n = kStart - 2 * astype(i, DType::float64);
        // Steps down from J_n and J_(n + 1) by two orders; the sum is over even orders.
        const Array odd = n * inverse * s.here - s.below;
        const Array even = (n - 1) * inverse * odd - s.here;
        return State{odd, even, s.sum + 2 * even};
      },
      State{zeros_like(x), ones_like(x), full_like(x, 2.0)});
  const Array whole = last.sum - last.here;
  const BesselPair middle{last.here / whole, last.below / whole};

  const Array out = where(far, x, 30.0), eighth = 1 / (8 * out);
  const auto phase = [&](double mu) {
    Array p = ones_like(x), q = zeros_like(x), term = ones_like(x);
    for (int k = 1; k <= 18; ++k) {
      term = term * eighth * ((mu - (2.0 * k - 1) * (2 * k - 1)) / k);
      Array& part = k % 2 ? q : p;
      part = part + (k % 4 < 2 ? term : -term);
    }
    return BesselPair(p, q);
  };
  const Array c = cos(out), s = sin(out), size = sqrt(1 / (std::numbers::pi * out));
  const auto [p0, q0] = phase(0);
  const auto [p1, q1] = phase(4);
  // sqrt(2) times the cosines of x - pi / 4 and of x - 3 pi / 4.
  const Array up = c + s, down = s - c;
  const BesselPair beyond{size * (p0 * up - q0 * down), size * (p1 * down + q1 * up)};
  return {where(small, near.first, where(far, beyond.first, middle.first)),
          where(small, near.second, where(far, beyond.second, middle.second))};
}

struct Orders {
  Array before, here;
};
Array orders_value(const Array& z, std::int64_t v) {
  const Array unusual = isnan(z) | isinf(z), x = where(unusual, 1.0, abs(z));
  const auto [zeroth, first] = first_orders(x);
  const Array sign = where(less(z, 0), -1.0, 1.0);
  const Array ends = where(isnan(z), v0::nan, 0.0);
  const auto ended = [&](const Array& r) { return where(unusual, ends, r); };
  if (v == 0) return expand_dims(ended(zeroth), 0);
  const Array start = stack({ended(zeroth), ended(first * sign)});
  if (v == 1) return start;
  // J_n / J_(n - 1) by downward recurrence from an order so high that it equals its bound for large
  // orders.
  const std::int64_t beyond =
      40 + static_cast<std::int64_t>(12 * std::cbrt(static_cast<double>(v)));
  const double top = static_cast<double>(v + beyond);
  const auto below = [&](const Array& r, const Array& n) { return x / (2 * n - x * r); };
  const Array reach = minimum(x, top);
  const Array guess = reach / (top + 1 + sqrt((top + 1) * (top + 1) - reach * reach));
  const Array began = fori_loop(
      0, beyond, [&](Array i, Array r) { return below(r, top - astype(i, DType::float64)); },
      guess);
  const auto [last, ratios] = scan(
      [&](Array r, Array n) {
        const Array next = below(r, n);
        return std::pair(next, next);
      },
      began, arange(2.0, static_cast<double>(v) + 1, 1.0).astype(DType::float64),
      ScanOptions{.reverse = true});
  struct Step {
    Array n, ratio;
  };
  // Recurs forwards up to order |z|, then multiplies by the ratios.
  const Array twice = 2 / where(x == 0, 1.0, x);
  const auto [end, rest] = scan(
      [&](Orders o, Step step) {
        const Array forwards = (step.n - 1) * twice * o.here - o.before;
        const Array next = where(step.n <= x, forwards, o.here * step.ratio);
        const Array odd = remainder(step.n, 2.0) == 1;
        return std::pair(Orders{o.here, next}, ended(where(odd, next * sign, next)));
      },
      Orders{zeroth, first},
      Step{arange(2.0, static_cast<double>(v) + 1, 1.0).astype(DType::float64), ratios});
  return concatenate({start, rest}, 0);
}
// J_0' = -J_1, J_n' = (J_(n - 1) - J_(n + 1)) / 2 (DLMF 10.6.1).
Array differentiable_orders(const Array& z, std::int64_t v) {
  const auto value = [v](Array z) { return orders_value(z, v); };
  return custom_jvp(value, [v](Array z, Array dz) {
    const Array all = differentiable_orders(z, v + 1);
    const Array head = -part_of(all, 0, 1, 2);
    const Array slopes =
        v == 0 ? head
               : concatenate({head, 0.5 * (part_of(all, 0, 0, v) - part_of(all, 0, 2, v + 2))}, 0);
    return std::pair(part_of(all, 0, 0, v + 1), slopes * dz);
  })(z);
}
}  // namespace

Array bessel_jn(Operand z, std::int64_t v) {
  if (v < 0 || v > 10000)
    Message("bessel_jn")
        .problem("the greatest order is " + std::to_string(v))
        .rule("it is from 0 to 10000")
        .from(z.loc)
        .advice("bessel_jn(z, 2) are the orders 0, 1 and 2")
        .raise<Error>();
  return in_float64("bessel_jn", {z}, [v](In in) { return differentiable_orders(in[0], v); });
}

}  // namespace tessera::inline v0
