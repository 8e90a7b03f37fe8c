// Spherical harmonics.
#include "api/special/in_float64.h"

#include <tessera/control_flow.h>
#include <tessera/custom.h>
#include <tessera/grad.h>
#include <tessera/reductions.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::composed1;
using detail::in_floats;
using detail::need_integer;
using detail::need_real;

namespace {
using In = std::span<const Array>;

struct Angles {
  Array theta, phi;
};
// A product of sines is stored as value * 2^(-400 units), so that it does not vanish where the
// values that grow from it do not.
constexpr double kUnit = 0x1p-400;
struct Scaled {
  Array value, units;
};
struct Degrees {
  Array before, here, units, result, units_of_result;
};

// sqrt((2n + 1) / (4 pi) (n - m)! / (n + m)!) P(n, m, cos theta) for floats 0 <= m and n, by the
// recurrence in n starting at n = m (DLMF 14.10.3, normalised). It depends only on cos theta, so
// beyond 0 and pi the sine has the sign of the square root that it stands for.
Array legendre(const Array& n, const Array& m, const Array& theta, std::int64_t n_max) {
  const Array x = cos(theta), y = abs(sin(theta));
  const Scaled diagonal = fori_loop(
      0, n_max,
      [&](Array i, Scaled s) {
        const Array k = astype(i, DType::float64) + 1;
        const Array next = where(k <= m, s.value * y * -sqrt((2 * k + 1) / (2 * k)), s.value);
        const Array little = (abs(next) < kUnit) & (next != 0);
        return Scaled{where(little, next / kUnit, next), s.units + where(little, 1.0, 0.0)};
      },
      Scaled{full_like(x, 0.5 * std::numbers::inv_sqrtpi), zeros_like(x)});
  const Array none = zeros_like(x);
  const Array first = m == 0;
  const Degrees d = fori_loop(
      0, n_max,
      [&](Array i, Degrees d) {
        const Array l = astype(i, DType::float64) + 1, on = l > m;
        const Array wide = where(on, l * l - m * m, 1.0), last = (l - 1) * (l - 1);
        const Array a = sqrt((4 * l * l - 1) / wide);
        const Array b = sqrt(maximum(last - m * m, 0.0) / maximum(4 * last - 1, 1.0));
        const Array grown = where(on, a * (x * d.here - b * d.before), none);
        const Array start = l == m;
        Array here = where(start, diagonal.value, grown);
        const Array many = (abs(here) > 1 / kUnit) & (d.units > 0);
        const Array factor = where(many, kUnit, 1.0);
        here = here * factor;
        const Array units = d.units - where(many, 1.0, 0.0), reached = l == n;
        return Degrees{where(on, d.here * factor, none), here, units,
                       where(reached, here, d.result), where(reached, units, d.units_of_result)};
      },
      Degrees{none, where(first, diagonal.value, none), diagonal.units,
              where(first & (n == 0), diagonal.value, none), none});
  Array r = d.result;
  for (int k = 1; k <= 3; ++k) r = where(d.units_of_result >= k, r * kUnit, r);
  return where(d.units_of_result > 3, 0.0, r);  // below 2^-1200
}

Array harmonic(const Array& n, const Array& m, const Angles& at, std::int64_t n_max);
// The derivative is expressed by neighbouring orders (DLMF 14.10), without a cotangent, so that it
// has no poles at the poles of the sphere.
Array differentiable_harmonic(const Array& n, const Array& m, const Angles& at,
                              std::int64_t n_max) {
  const auto value = [n_max](Array n, Array m, Angles at) { return harmonic(n, m, at, n_max); };
  return custom_jvp(value, [n_max](Array n, Array m, Angles at, Array, Array, Angles d) {
    const Array up = differentiable_harmonic(n, m + 1, at, n_max);
    const Array down = differentiable_harmonic(n, m - 1, at, n_max);
    const Array here = differentiable_harmonic(n, m, at, n_max);
    const Array turn = complex(cos(at.phi), sin(at.phi)), back = complex(cos(at.phi), -sin(at.phi));
    const Array by_theta = 0.5 * (sqrt(maximum((n - m) * (n + m + 1), 0.0)) * back * up -
                                  sqrt(maximum((n + m) * (n - m + 1), 0.0)) * turn * down);
    const Array side = where(less(sin(at.theta), 0), -1.0, 1.0);
    const Array by_phi = complex(zeros_like(m), m) * here;
    return std::pair(here, by_theta * (side * d.theta) + by_phi * d.phi);
  })(n, m, at);
}
Array harmonic(const Array& n, const Array& m, const Angles& at, std::int64_t n_max) {
  const Array order = abs(m), size = legendre(n, order, at.theta, n_max);
  const Array angle = m * at.phi;
  const Array odd = (remainder(order, 2.0) == 1) & less(m, 0);
  const Array part =
      where(less(n, 0) | isnan(at.theta), v0::nan, where(order > n, 0.0, where(odd, -size, size)));
  return complex(part * cos(angle), part * sin(angle));
}
}  // namespace

Array sph_harm_y(Operand n, Operand m, Operand theta, Operand phi, std::int64_t n_max) {
  need_integer("sph_harm_y", n.array, n.loc);
  need_integer("sph_harm_y", m.array, n.loc);
  if (n_max < 0 && n.array.is_traced())
    Message("sph_harm_y")
        .problem("n is traced, and n_max is not given")
        .rule("the greatest degree is known before the values are, for it is the number of steps")
        .from(n.loc)
        .advice("sph_harm_y(n, m, theta, phi, 10) for degrees up to 10")
        .raise<Error>();
  if (n_max < 0 && n.array.size() > 0)
    n_max = std::max<std::int64_t>(astype(max(n.array), DType::int64).item<std::int64_t>(), 0);
  if (n_max > 10000)
    Message("sph_harm_y")
        .problem("the greatest degree is " + std::to_string(n_max))
        .rule("it is from 0 to 10000")
        .from(n.loc)
        .advice("smaller degrees, or n_max")
        .raise<Error>();
  const std::vector<Array> given{n.array, m.array, theta.array, phi.array};
  return composed1("sph_harm_y", given, n.loc, [&](In in) {
    need_real("sph_harm_y", in[2], n.loc);
    need_real("sph_harm_y", in[3], n.loc);
    const Array narrow = complex(in_floats(in[2]), in_floats(in[3]));
    Shape shape;
    for (const Array& x : in) shape = broadcast_shapes(shape, x.shape(), "sph_harm_y", n.loc);
    std::vector<Array> d;
    for (const Array& x : in) d.push_back(broadcast_to(astype(x, DType::float64), shape));
    const Array degree = minimum(d[0], static_cast<double>(std::max<std::int64_t>(n_max, 0)));
    const Array r = differentiable_harmonic(stop_gradient(degree), stop_gradient(d[1]),
                                            Angles{d[2], d[3]}, std::max<std::int64_t>(n_max, 0));
    return astype(r, narrow.dtype());
  });
}

}  // namespace tessera::inline v0
