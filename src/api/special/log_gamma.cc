// The principal branch of the logarithm of the gamma function.
#include "api/special/faddeeva.h"

#include <tessera/arithmetic.h>
#include <tessera/custom.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::composed1;
using detail::in_floats;
using detail::Parts;

namespace {
constexpr double kPi = std::numbers::pi;
constexpr int kRecurrenceSteps = 10;

// B_2k / (2k (2k - 1)) of Stirling's series (DLMF 5.11.1).
constexpr double kStirling[] = {1.0 / 12,           -1.0 / 360,       1.0 / 1260,
                                -1.0 / 1680,        1.0 / 1188,       -691.0 / 360360,
                                1.0 / 156,          -3617.0 / 122400, 43867.0 / 244188,
                                -174611.0 / 125400, 77683.0 / 5796};

Parts constant(const Array& like, double re) { return {full_like(like, re), zeros_like(like)}; }
Parts reciprocal_of(const Parts& z) {
  const Array size = maximum(abs(z.re), abs(z.im)), a = z.re / size, b = z.im / size;
  const Array square = a * a + b * b;
  return {a / square / size, -b / square / size};
}

// For Re z >= 1/2 and Im z >= 0. Near the zeros at 1 and 2, the power series around 2, whose
// coefficients contain zeta(k) - 1 (DLMF 5.7.4); elsewhere Stirling's series, applied from 10 on,
// after ten steps of the recurrence for smaller z.
Parts log_gamma_on_the_right(const Parts& z) {
  const Array second = z.re > 1.5;
  const Parts off{z.re - where(second, 2.0, 1.0), z.im};
  const Array close = off.re * off.re + off.im * off.im < 0.8;
  const Parts w = chosen(close, off, constant(z.re, 0.25));
  constexpr int kTerms = 48;
  Parts sum = constant(z.re, 0);
  for (int k = kTerms; k >= 2; --k) {
    const double c = (std::riemann_zeta(static_cast<double>(k)) - 1) / k;
    sum = w * sum;
    sum.re = sum.re + (k % 2 ? -c : c);
  }
  sum = w * sum;
  sum.re = sum.re + (1 - std::numbers::egamma);
  const Parts of_two = w * sum;
  const Parts shifted{0.5 * log1p(w.re * (2 + w.re) + w.im * w.im), arctan2(w.im, 1 + w.re)};
  const Parts series_value = chosen(second, of_two, of_two - shifted);

  const Array near = (z.re < kRecurrenceSteps) & (z.im < kRecurrenceSteps);
  const Parts at = chosen(close, constant(z.re, 1.75), z);
  Parts product = at;
  Array turns = arctan2(at.im, at.re);
  for (int k = 1; k < kRecurrenceSteps; ++k) {
    const Parts next{at.re + k, at.im};
    turns = turns + arctan2(next.im, next.re);
    product = product * chosen(near, next, constant(z.re, 1));
  }
  const Parts q{at.re + where(near, 1.0 * kRecurrenceSteps, 0.0), at.im};
  const Array log_size = log(hypot(q.re, q.im)), turn = arctan2(q.im, q.re);
  const Parts inverse = reciprocal_of(q), square = inverse * inverse;
  Parts rest = constant(z.re, kStirling[std::size(kStirling) - 1]);
  for (std::size_t k = std::size(kStirling) - 1; k-- > 0;) {
    rest = square * rest;
    rest.re = rest.re + kStirling[k];
  }
  rest = inverse * rest;
  const Array less_half = q.re - 0.5;
  const Parts far{(less_half * (log_size - 1) - q.im * turn) + (0.4189385332046727 + rest.re),
                  less_half * turn + q.im * (log_size - 1) + rest.im};
  const Parts lost{where(near, log(hypot(product.re, product.im)), 0.0), where(near, turns, 0.0)};
  return chosen(close, series_value, far - lost);
}

Array log_gamma(const Array& z) {
  const Array re = real(z), im = imag(z), unknown = isnan(re) | isnan(im);
  const Array infinite = isinf(re) | isinf(im);
  const Array pole = (im == 0) & (re <= 0) & (re == floor(re));
  const Array usual = !(unknown | infinite | pole);
  const Array x = where(usual, re, 1.25), y = where(usual, abs(im), 0.5), right = x >= 0.5;
  const Parts on_right = log_gamma_on_the_right({where(right, x, 1 - x), y});
  // log gamma(z) = log(2 pi) + i pi (z - 1/2) - log(1 - exp(2 pi i z)) - log gamma(1 - z), which is
  // the principal branch for Im z >= 0 (DLMF 5.5.3).
  const Array off = x - round(x), sine = sin(kPi * off), fall = exp(-2 * kPi * y);
  const Array bottom = -expm1(-2 * kPi * y) + 2 * fall * sine * sine;
  const Array side = -fall * sin(2 * kPi * off);
  const Array size = where(right, 1.0, hypot(bottom, side));
  const Array turn = arctan2(where(right, 0.0, side), where(right, 1.0, bottom));
  const Parts mirrored{(std::log(2 * kPi) - kPi * y) - log(size) - on_right.re,
                       (kPi * (x - 0.5) - turn) + on_right.im};
  const Parts upper = chosen(right, on_right, mirrored);
  const Array flat = (y == 0) & (x > 0), angle = where(flat, 0.0, upper.im);
  // At +infinity, the value of the real function; if only the imaginary part is infinite, gamma
  // tends to 0; NaN where the argument has no limit.
  const Array top = (re == v0::inf) & (im == 0), along = isfinite(re) & isinf(im);
  const Array limits = where(along, -v0::inf, v0::nan);
  const Array r = where(top, v0::inf, where(usual, upper.re, limits));
  const Array a = where(usual, angle, where(top, 0.0, v0::nan));
  return complex(r, where(signbit(im), -a, a));
}

// The derivative: Stirling's series (DLMF 5.11.2) after ten steps, and reflection on the left.
Array complex_digamma(const Array& z) {
  const Array left = less(real(z), 0.5), lower = less(imag(z), 0);
  const Array u = where(left, 1 - z, z);
  Array steps = zeros_like(z);
  for (int k = 0; k < kRecurrenceSteps; ++k) steps = steps + 1 / (u + static_cast<double>(k));
  const Array q = u + static_cast<double>(kRecurrenceSteps), inverse = 1 / q,
              square = inverse * inverse;
  const std::size_t n = std::size(kStirling);
  const auto coefficient = [](std::size_t k) {
    return kStirling[k] * static_cast<double>(2 * k + 1);
  };
  Array sum = full_like(z, coefficient(n - 1));
  for (std::size_t k = n - 1; k-- > 0;) sum = sum * square + coefficient(k);
  const Array right = log(q) - 0.5 * inverse - square * sum - steps;
  // pi cot(pi z) = pi i (e + 1) / (e - 1) with e = exp(2 pi i z) above the axis.
  const Array i = complex(zeros_like(real(z)), where(lower, -1.0, 1.0));
  const Array period = complex(real(z) - round(real(z)), imag(z));
  const Array e = exp(2 * kPi * i * where(left, period, 0.25));
  return where(left, right - kPi * i * (e + 1) / (e - 1), right);
}
Array differentiable_log_gamma(const Array& z) {
  return custom_jvp(log_gamma, [](Array z, Array dz) {
    return std::pair(differentiable_log_gamma(z), complex_digamma(z) * dz);
  })(z);
}
}  // namespace

Array loggamma(Operand x) {
  return composed1("loggamma", {x.array}, x.loc, [](std::span<const Array> in) {
    if (is_complex(in[0].dtype()))
      return astype(differentiable_log_gamma(astype(in[0], DType::complex128)), in[0].dtype());
    const Array v = in_floats(in[0]), below = less(v, 0);
    return where(below, full_like(v, v0::nan), gammaln(where(below, ones_like(v), v)));
  });
}

}  // namespace tessera::inline v0
