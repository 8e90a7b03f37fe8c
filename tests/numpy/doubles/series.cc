// Series of values: differences, integrals, interpolation, polynomials, transforms.
#include "numpy/doubles/cases.h"

#include <algorithm>
#include <complex>

namespace doubles {

namespace {

using Complex = std::complex<Long>;

// The discrete Fourier transform by its definition, times `by`.
std::vector<Complex> transform(const std::vector<Complex>& x, int sign, Long by) {
  const std::size_t n = x.size();
  std::vector<Complex> out(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j)
      out[k] +=
          x[j] * by *
          std::polar(1.0L, sign * 2 * kPi * static_cast<Long>(j * k % n) / static_cast<Long>(n));
  return out;
}
Array parts(const Array& z) { return ts::concatenate({ts::real(z), ts::imag(z)}); }
Longs parts(const std::vector<Complex>& z, std::size_t n) {
  Longs out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(z[i].real());
  for (std::size_t i = 0; i < n; ++i) out.push_back(z[i].imag());
  return out;
}
Long scale_of(const std::string& norm, bool inverse, Long n) {
  if (norm == "ortho") return 1 / std::sqrt(n);
  return (norm == "backward") == inverse ? 1 / n : 1;
}

Long polynomial(const Longs& p, Long x) {
  Long s = 0;
  for (Long c : p) s = s * x + c;
  return s;
}

}  // namespace

std::vector<Row> series_rows() {
  std::vector<Row> all;
  const auto add = [&](const std::string& name, const std::function<Case(Dice&)>& draw) {
    all.push_back({name, draw});
  };
  add("diff", [](Dice& dice) {
    return Case{
        "diff(x, {.prepend = y, .append = z})",
        {draw_reals(dice, {3}, -3, 3), number(draw_double(dice, -3, 3)),
         number(draw_double(dice, -3, 3))},
        [](const Arrays& in) { return ts::diff(in[0], {.prepend = in[1], .append = in[2]}); },
        [](const Operands& o) {
          return Longs{o[0][0] - o[1][0], o[0][1] - o[0][0], o[0][2] - o[0][1], o[2][0] - o[0][2]};
        }};
  });
  add("ediff1d", [](Dice& dice) {
    return Case{
        "ediff1d(x, {.to_end = y, .to_begin = z})",
        {draw_reals(dice, {3}, -3, 3), number(draw_double(dice, -3, 3)),
         number(draw_double(dice, -3, 3))},
        [](const Arrays& in) { return ts::ediff1d(in[0], {.to_end = in[1], .to_begin = in[2]}); },
        [](const Operands& o) {
          return Longs{o[2][0], o[0][1] - o[0][0], o[0][2] - o[0][1], o[1][0]};
        }};
  });
  add("gradient", [](Dice& dice) {
    const double h = draw_double(dice, 0.1, 2);
    return Case{"gradient(x, {.spacing = {" + text(h) + "}})",
                {draw_reals(dice, {4}, -3, 3)},
                [h](const Arrays& in) { return ts::gradient(in[0], {.spacing = {h}})[0]; },
                [h](const Operands& o) {
                  const Reals& x = o[0];
                  return Longs{(x[1] - x[0]) / h, (x[2] - x[0]) / (2 * Long(h)),
                               (x[3] - x[1]) / (2 * Long(h)), (x[3] - x[2]) / h};
                },
                20};
  });
  add("trapezoid", [](Dice& dice) {
    const double h = draw_double(dice, 0.1, 2);
    return Case{"trapezoid(x, {.dx = " + text(h) + "})",
                {draw_reals(dice, {4}, -3, 3)},
                [h](const Arrays& in) { return ts::trapezoid(in[0], {.dx = h}); },
                [h](const Operands& o) {
                  const Reals& x = o[0];
                  return Longs{(x[0] / 2 + x[1] + x[2] + x[3] / 2) * h};
                },
                8};
  });
  add("interp", [](Dice& dice) {
    const double start = draw_double(dice, -2, 0), step = draw_double(dice, 0.5, 1);
    Reals points{{3}, {start, start + step, start + 2 * step}};
    Reals x{{5}, {start - 0.3, start + 0.3 * step, start + 1.2 * step, start + 1.9 * step, 5}};
    const bool ends = dice.toss();
    return Case{std::string("interp(x, y, z") + (ends ? ", {.left = u, .right = v})" : ")"),
                {x, points, draw_reals(dice, {3}, -3, 3), number(draw_double(dice, -3, 3)),
                 number(draw_double(dice, -3, 3))},
                [ends](const Arrays& in) {
                  ts::InterpOptions o;
                  if (ends) o.left = in[3], o.right = in[4];
                  return ts::interp(in[0], in[1], in[2], o);
                },
                [ends](const Operands& o) {
                  return each(o[0], [&](Long v) {
                    const Reals &p = o[1], &f = o[2];
                    if (v < p[0]) return ends ? o[3][0] : f[0];
                    if (v > p[2]) return ends ? o[4][0] : f[2];
                    const std::size_t i = v > p[1] ? 1 : 0;
                    return f[i] + (f[i + 1] - f[i]) * (v - p[i]) / (p[i + 1] - p[i]);
                  });
                },
                8,
                true,
                false};
  });
  add("interp", [](Dice& dice) {
    const double period = draw_double(dice, 2, 4);
    return Case{
        "interp(x, y, z, {.period = " + text(period) + "})",
        {draw_reals(dice, {4}, 0.5, 1.4), {{3}, {0.2, 0.4, 1.7}}, draw_reals(dice, {3}, -3, 3)},
        [period](const Arrays& in) {
          return ts::interp(in[0] + period * 3, in[1], in[2], {.period = period});
        },
        [](const Operands& o) {
          const Reals &p = o[1], &f = o[2];
          return each(o[0],
                      [&](Long v) { return f[1] + (f[2] - f[1]) * (v - p[1]) / (p[2] - p[1]); });
        },
        100,
        true,
        false};
  });
  add("unwrap", [](Dice& dice) {
    const double period = draw_double(dice, 2, 4), x0 = draw_double(dice, -0.4, 0.4);
    return Case{"unwrap(x, {.period = " + text(period) + "})",
                {{{3}, {x0, x0 + 0.7 * period, x0 - 0.6 * period}}},
                [period](const Arrays& in) { return ts::unwrap(in[0], {.period = period}); },
                [period](const Operands& o) {
                  return Longs{o[0][0], o[0][1] - Long(period), o[0][2]};
                },
                8,
                true,
                false};
  });
  add("polyval", [](Dice& dice) {
    return Case{"polyval(x, y)",
                {draw_reals(dice, {4}, -2, 2), draw_operand(dice, {3}, -2, 2)},
                [](const Arrays& in) { return ts::polyval(in[0], in[1]); },
                [](const Operands& o) {
                  return each(o[1], [&](Long v) { return polynomial(o[0].at, v); });
                },
                30};
  });
  add("polyint", [](Dice& dice) {
    return Case{"polyint(x, 1, y)",
                {draw_reals(dice, {3}, -2, 2), number(draw_double(dice, -2, 2))},
                [](const Arrays& in) { return ts::polyint(in[0], 1, in[1]); },
                [](const Operands& o) {
                  return Longs{o[0][0] / 3, o[0][1] / 2, o[0][2], o[1][0]};
                },
                0,
                true,
                false};
  });
  add("polyder", [](Dice& dice) {
    return Case{"polyder(x)",
                {draw_reals(dice, {4}, -2, 2)},
                [](const Arrays& in) { return ts::polyder(in[0]); },
                [](const Operands& o) {
                  return Longs{o[0][0] * 3, o[0][1] * 2, o[0][2]};
                }};
  });
  add("polymul", [](Dice& dice) {
    return Case{"polymul(x, y)",
                {draw_reals(dice, {2}, -2, 2), draw_reals(dice, {2}, -2, 2)},
                [](const Arrays& in) { return ts::polymul(in[0], in[1]); },
                [](const Operands& o) {
                  const Reals &x = o[0], &y = o[1];
                  return Longs{x[0] * y[0], x[0] * y[1] + x[1] * y[0], x[1] * y[1]};
                },
                8,
                true,
                false};
  });
  add("polyfit", [](Dice& dice) {
    // The line through points, by its normal equations.
    return Case{"polyfit(x, y, 1)",
                {{{4}, {-1.1, 0.3, 0.9, 2.2}}, draw_reals(dice, {4}, -2, 2)},
                [](const Arrays& in) { return ts::polyfit(in[0], in[1], 1); },
                [](const Operands& o) {
                  const Longs &x = o[0].at, &y = o[1].at;
                  Long xy = 0, xx = 0;
                  for (std::size_t i = 0; i < 4; ++i)
                    xy += (x[i] - mean_of(x)) * (y[i] - mean_of(y)),
                        xx += (x[i] - mean_of(x)) * (x[i] - mean_of(x));
                  return Longs{xy / xx, mean_of(y) - xy / xx * mean_of(x)};
                },
                30,
                false,
                false};
  });
  add("vander", [](Dice& dice) {
    return Case{"vander(x)",
                {draw_reals(dice, {3}, -2, 2)},
                [](const Arrays& in) { return ts::vander(in[0]); },
                [](const Operands& o) {
                  Longs out;
                  for (Long v : o[0].at)
                    for (Long p : {v * v, v, 1.0L}) out.push_back(p);
                  return out;
                }};
  });
  add("convolve", [](Dice& dice) {
    return Case{"convolve(x, y)",
                {draw_reals(dice, {2}, -2, 2), draw_reals(dice, {2}, -2, 2)},
                [](const Arrays& in) { return ts::convolve(in[0], in[1]); },
                [](const Operands& o) {
                  const Reals &x = o[0], &y = o[1];
                  return Longs{x[0] * y[0], x[0] * y[1] + x[1] * y[0], x[1] * y[1]};
                },
                8};
  });
  add("avg_pool", [](Dice& dice) {
    return Case{"avg_pool(x, {3})",
                {draw_reals(dice, {1, 6, 1}, -2, 2)},
                [](const Arrays& in) { return ts::avg_pool(in[0], {3}, {3}); },
                [](const Operands& o) {
                  const Reals& x = o[0];
                  return Longs{(x[0] + x[1] + x[2]) / 3, (x[3] + x[4] + x[5]) / 3};
                },
                4};
  });
  add("nn::adaptive_avg_pool", [](Dice& dice) {
    return Case{"nn::adaptive_avg_pool(x, {2})",
                {draw_reals(dice, {1, 5, 1}, -2, 2)},
                [](const Arrays& in) { return ts::nn::adaptive_avg_pool(in[0], {2}); },
                [](const Operands& o) {
                  const Reals& x = o[0];
                  return Longs{(x[0] + x[1] + x[2]) / 3, (x[2] + x[3] + x[4]) / 3};
                },
                4};
  });
  for (const bool inverse : {false, true}) {
    add(inverse ? "fft::ifft" : "fft::fft", [inverse](Dice& dice) {
      const std::string norm = dice.of(std::vector<std::string>{"backward", "ortho", "forward"});
      return Case{std::string(inverse ? "ifft" : "fft") + "(x, " + norm + ")",
                  {draw_reals(dice, {dice.toss() ? 5 : 6}, -2, 2)},
                  [=](const Arrays& in) {
                    return parts(inverse ? ts::fft::ifft(in[0], {.norm = norm})
                                         : ts::fft::fft(in[0], {.norm = norm}));
                  },
                  [=](const Operands& o) {
                    const std::vector<Complex> x(o[0].at.begin(), o[0].at.end());
                    const auto n = static_cast<Long>(x.size());
                    return parts(transform(x, inverse ? 1 : -1, scale_of(norm, inverse, n)),
                                 x.size());
                  },
                  12};
    });
  }
  add("fft::rfft", [](Dice& dice) {
    const std::string norm = dice.of(std::vector<std::string>{"backward", "ortho", "forward"});
    return Case{"rfft(x, " + norm + ")",
                {draw_reals(dice, {6}, -2, 2)},
                [=](const Arrays& in) { return parts(ts::fft::rfft(in[0], {.norm = norm})); },
                [=](const Operands& o) {
                  const std::vector<Complex> x(o[0].at.begin(), o[0].at.end());
                  return parts(transform(x, -1, scale_of(norm, false, 6)), 4);
                },
                12};
  });
  add("fft::irfft", [](Dice& dice) {
    const std::string norm = dice.of(std::vector<std::string>{"backward", "ortho", "forward"});
    return Case{"irfft(x, " + norm + ")",
                {draw_reals(dice, {4}, -2, 2)},
                [=](const Arrays& in) { return ts::fft::irfft(in[0], {.norm = norm}); },
                [=](const Operands& o) {
                  std::vector<Complex> x(o[0].at.begin(), o[0].at.end());
                  x.push_back(x[2]), x.push_back(x[1]);
                  Longs out;
                  for (const Complex& z : transform(x, 1, scale_of(norm, true, 6)))
                    out.push_back(z.real());
                  return out;
                },
                12};
  });
  add("multivariate_normal::logpdf", [](Dice& dice) {
    return Case{"logpdf(x, y, {{y + 2, 0.3}, {0.3, 1.1}})",
                {draw_reals(dice, {2}, -2, 2), number(draw_double(dice, 0, 1))},
                [](const Arrays& in) {
                  const Array cov = ts::array({{0.0, 0.3}, {0.3, 1.1}}, ts::f64);
                  return ts::stats::multivariate_normal::logpdf(
                      in[0], ts::array({0.1, 0.2}, ts::f64), cov.at(0, 0).set(in[1] + 2));
                },
                [](const Operands& o) {
                  const Long a = o[1][0] + 2, b = Long(0.3), d = Long(1.1), det = a * d - b * b;
                  const Long u = o[0][0] - Long(0.1), v = o[0][1] - Long(0.2);
                  const Long q = (d * u * u - 2 * b * u * v + a * v * v) / det;
                  return Longs{-(q + std::log(det) + 2 * std::log(2 * kPi)) / 2};
                },
                8};
  });
  return all;
}

}  // namespace doubles
