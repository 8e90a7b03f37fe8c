// Functions of one, two and three operands, element by element; operands are arrays or numbers.
#include "numpy/doubles/cases.h"

namespace doubles {

namespace {

using One = Array (*)(ts::Operand);
using Two = Array (*)(ts::Operand, ts::Operand);
using Real = std::function<Long(Long)>;
using Reals2 = std::function<Long(Long, Long)>;

Row one(const std::string& name, One f, const Real& g, double low, double high, Long terms = 0) {
  return {name, [=](Dice& dice) {
            return Case{name + "(x)",
                        {draw_reals(dice, draw_shape(dice), low, high)},
                        [f](const Arrays& in) { return f(in[0]); },
                        [g](const Operands& x) { return each(x[0], g); },
                        terms};
          }};
}

struct Range {
  double low, high;
};
// At least one of the operands is an array.
Row two(const std::string& name, const std::function<Array(Array, Array)>& f, const Reals2& g,
        Range first, Range second, Long terms = 0) {
  return {name, [=](Dice& dice) {
            const Shape shape = draw_shape(dice);
            Reals x = draw_operand(dice, shape, first.low, first.high),
                  y = x.number ? draw_reals(dice, shape, second.low, second.high)
                               : draw_operand(dice, shape, second.low, second.high);
            return Case{name + "(x, y)",
                        {x, y},
                        [f](const Arrays& in) { return f(in[0], in[1]); },
                        [g](const Operands& o) { return each(o[0], o[1], g); },
                        terms};
          }};
}
Row two(const std::string& name, Two f, const Reals2& g, Range first, Range second,
        Long terms = 0) {
  return two(
      name, [f](const Array& x, const Array& y) { return f(x, y); }, g, first, second, terms);
}

// A comparison with a number that equals some elements and nearly equals others.
Row comparison(const std::string& name, const std::function<Array(Array, Array)>& f,
               const std::function<bool(Long, Long)>& g) {
  return {name, [=](Dice& dice) {
            const double c = draw_double(dice, -2, 2), beside = std::nextafter(c, 9.0);
            const auto single = static_cast<double>(static_cast<float>(c));
            const Reals x{{4}, {c, beside, single, -c}, false};
            const bool first = dice.toss();
            return Case{name + (first ? "(y, x)" : "(x, y)"),
                        {x, number(c)},
                        [f, first](const Arrays& in) {
                          return (first ? f(in[1], in[0]) : f(in[0], in[1])).astype(ts::f64);
                        },
                        [g, c, first, x](const Operands&) {
                          return each(x, [&](Long v) -> Long { return first ? g(c, v) : g(v, c); });
                        },
                        0,
                        false,
                        false};
          }};
}

Long remainder_of(Long x, Long y) { return x - y * std::floor(x / y); }
Long logaddexp(Long x, Long y) { return std::max(x, y) + std::log1p(std::exp(-std::fabs(x - y))); }
Long rounded(Long x) { return std::nearbyint(x); }

}  // namespace

std::vector<Row> elementwise_rows() {
  const Range any{-3, 3}, positive{0.2, 3};
  std::vector<Row> all{
      one(
          "exp", ts::exp, [](Long x) { return std::exp(x); }, -3, 3),
      one(
          "exp2", ts::exp2, [](Long x) { return std::exp2(x); }, -3, 3),
      one(
          "expm1", ts::expm1, [](Long x) { return std::expm1(x); }, -3, 3),
      one(
          "log", ts::log, [](Long x) { return std::log(x); }, 0.2, 9),
      one(
          "log2", ts::log2, [](Long x) { return std::log2(x); }, 0.2, 9),
      one(
          "log10", ts::log10, [](Long x) { return std::log10(x); }, 0.2, 9),
      one(
          "log1p", ts::log1p, [](Long x) { return std::log1p(x); }, -0.8, 9),
      one(
          "sqrt", ts::sqrt, [](Long x) { return std::sqrt(x); }, 0.2, 9),
      one(
          "rsqrt", ts::rsqrt, [](Long x) { return 1 / std::sqrt(x); }, 0.2, 9),
      one(
          "cbrt", ts::cbrt, [](Long x) { return std::cbrt(x); }, 0.2, 9),
      one(
          "sin", ts::sin, [](Long x) { return std::sin(x); }, -7, 7),
      one(
          "cos", ts::cos, [](Long x) { return std::cos(x); }, -7, 7),
      one(
          "tan", ts::tan, [](Long x) { return std::tan(x); }, -1.4, 1.4),
      one(
          "arcsin", ts::arcsin, [](Long x) { return std::asin(x); }, -0.9, 0.9),
      one(
          "arccos", ts::arccos, [](Long x) { return std::acos(x); }, -0.9, 0.9),
      one(
          "arctan", ts::arctan, [](Long x) { return std::atan(x); }, -3, 3),
      one(
          "sinh", ts::sinh, [](Long x) { return std::sinh(x); }, -3, 3),
      one(
          "cosh", ts::cosh, [](Long x) { return std::cosh(x); }, -3, 3),
      one(
          "tanh", ts::tanh, [](Long x) { return std::tanh(x); }, -3, 3),
      one(
          "arcsinh", ts::arcsinh, [](Long x) { return std::asinh(x); }, -3, 3),
      one(
          "arccosh", ts::arccosh, [](Long x) { return std::acosh(x); }, 1.2, 9),
      one(
          "arctanh", ts::arctanh, [](Long x) { return std::atanh(x); }, -0.9, 0.9),
      one(
          "erf", ts::erf, [](Long x) { return std::erf(x); }, -3, 3),
      one(
          "erfc", ts::erfc, [](Long x) { return std::erfc(x); }, -3, 3),
      one("erf_inv", ts::erf_inv, erf_inv, -0.9, 0.9),
      one("sigmoid", ts::sigmoid, sigmoid, -5, 5),
      one(
          "reciprocal", ts::reciprocal, [](Long x) { return 1 / x; }, 0.2, 9),
      one(
          "floor", ts::floor, [](Long x) { return std::floor(x); }, -3, 3),
      one(
          "ceil", ts::ceil, [](Long x) { return std::ceil(x); }, -3, 3),
      one("round", ts::round, rounded, -3, 3),
      one(
          "trunc", ts::trunc, [](Long x) { return std::trunc(x); }, -3, 3),
      one(
          "negative", ts::negative, [](Long x) { return -x; }, -3, 3),
      one(
          "abs", ts::abs, [](Long x) { return std::fabs(x); }, -3, 3),
      one(
          "fabs", ts::fabs, [](Long x) { return std::fabs(x); }, -3, 3),
      one(
          "sign", ts::sign, [](Long x) -> Long { return (x > 0) - (x < 0); }, -3, 3),
      one(
          "square", ts::square, [](Long x) { return x * x; }, -3, 3),
      one(
          "nan_to_num", ts::nan_to_num, [](Long x) { return x; }, -3, 3),
      one(
          "deg2rad", ts::deg2rad, [](Long x) { return x * kPi / 180; }, -400, 400),
      one(
          "rad2deg", ts::rad2deg, [](Long x) { return x * 180 / kPi; }, -7, 7),
      one(
          "sinc", ts::sinc, [](Long x) { return std::sin(kPi * x) / (kPi * x); }, 0.05, 0.95),
      two(
          "add", ts::add, [](Long x, Long y) { return x + y; }, any, any),
      two(
          "subtract", ts::subtract, [](Long x, Long y) { return x - y; }, any, any),
      two(
          "multiply", ts::multiply, [](Long x, Long y) { return x * y; }, any, any),
      two(
          "divide", ts::divide, [](Long x, Long y) { return x / y; }, any, positive),
      two(
          "operator+", [](const Array& x, const Array& y) { return x + y; },
          [](Long x, Long y) { return x + y; }, any, any),
      two(
          "operator-", [](const Array& x, const Array& y) { return x - y; },
          [](Long x, Long y) { return x - y; }, any, any),
      two(
          "operator*", [](const Array& x, const Array& y) { return x * y; },
          [](Long x, Long y) { return x * y; }, any, any),
      two(
          "operator/", [](const Array& x, const Array& y) { return x / y; },
          [](Long x, Long y) { return x / y; }, any, positive),
      two(
          "operator%", [](const Array& x, const Array& y) { return x % y; }, remainder_of, any,
          positive, 3),
      two(
          "floor_divide", ts::floor_divide, [](Long x, Long y) { return std::floor(x / y); }, any,
          positive),
      two("remainder", ts::remainder, remainder_of, any, positive, 3),
      two("mod", ts::mod, remainder_of, any, positive, 3),
      two(
          "fmod", ts::fmod, [](Long x, Long y) { return std::fmod(x, y); }, any, positive, 3),
      two(
          "power", ts::power, [](Long x, Long y) { return std::pow(x, y); }, positive, any),
      two(
          "pow", ts::pow, [](Long x, Long y) { return std::pow(x, y); }, positive, any),
      two(
          "float_power", ts::float_power, [](Long x, Long y) { return std::pow(x, y); }, positive,
          any),
      two(
          "arctan2", ts::arctan2, [](Long x, Long y) { return std::atan2(x, y); }, any, any),
      two(
          "maximum", ts::maximum, [](Long x, Long y) { return std::max(x, y); }, any, any),
      two(
          "minimum", ts::minimum, [](Long x, Long y) { return std::min(x, y); }, any, any),
      two(
          "fmax", ts::fmax, [](Long x, Long y) { return std::max(x, y); }, any, any),
      two(
          "fmin", ts::fmin, [](Long x, Long y) { return std::min(x, y); }, any, any),
      two("logaddexp", ts::logaddexp, logaddexp, any, any, 3),
      two(
          "hypot", ts::hypot, [](Long x, Long y) { return std::sqrt(x * x + y * y); }, any, any),
      two(
          "copysign", ts::copysign, [](Long x, Long y) { return std::copysign(x, y); }, any, any),
      two(
          "heaviside", ts::heaviside, [](Long x, Long y) { return x < 0   ? 0
                                                                  : x > 0 ? 1
                                                                          : y; }, any,
          any),
      two(
          "divmod",
          [](const Array& x, const Array& y) {
            const ts::DivMod both = ts::divmod(x, y);
            return both.quotient * 0.7 + both.remainder;
          },
          [](Long x, Long y) { return std::floor(x / y) * Long(0.7) + remainder_of(x, y); }, any,
          positive, 8),
      comparison("equal", ts::equal, [](Long x, Long y) { return x == y; }),
      comparison("not_equal", ts::not_equal, [](Long x, Long y) { return x != y; }),
      comparison("less", ts::less, [](Long x, Long y) { return x < y; }),
      comparison("less_equal", ts::less_equal, [](Long x, Long y) { return x <= y; }),
      comparison("greater", ts::greater, [](Long x, Long y) { return x > y; }),
      comparison("greater_equal", ts::greater_equal, [](Long x, Long y) { return x >= y; }),
      comparison(
          "operator==", [](const Array& x, const Array& y) { return x == y; },
          [](Long x, Long y) { return x == y; }),
      comparison(
          "operator!=", [](const Array& x, const Array& y) { return x != y; },
          [](Long x, Long y) { return x != y; }),
      comparison(
          "operator<", [](const Array& x, const Array& y) { return x < y; },
          [](Long x, Long y) { return x < y; }),
      comparison(
          "operator<=", [](const Array& x, const Array& y) { return x <= y; },
          [](Long x, Long y) { return x <= y; }),
      comparison(
          "operator>", [](const Array& x, const Array& y) { return x > y; },
          [](Long x, Long y) { return x > y; }),
      comparison(
          "operator>=", [](const Array& x, const Array& y) { return x >= y; },
          [](Long x, Long y) { return x >= y; }),
  };
  // Compound assignments to an array, whose second operand may be a number.
  const auto changed = [&](const std::string& name, const std::function<Array(Array, Array)>& f,
                           const Reals2& g) {
    all.push_back({name, [=](Dice& dice) {
                     return Case{"x " + name.substr(8) + " y",
                                 {draw_reals(dice, draw_shape(dice), -3, 3),
                                  number(draw_double(dice, 0.2, 3))},
                                 [f](const Arrays& in) { return f(in[0], in[1]); },
                                 [g](const Operands& o) { return each(o[0], o[1], g); }};
                   }});
  };
  changed(
      "operator+=", [](Array x, const Array& y) { return x += y; },
      [](Long x, Long y) { return x + y; });
  changed(
      "operator-=", [](Array x, const Array& y) { return x -= y; },
      [](Long x, Long y) { return x - y; });
  changed(
      "operator*=", [](Array x, const Array& y) { return x *= y; },
      [](Long x, Long y) { return x * y; });
  changed(
      "operator/=", [](Array x, const Array& y) { return x /= y; },
      [](Long x, Long y) { return x / y; });
  all.push_back({"where", [](Dice& dice) {
                   const Shape shape = draw_shape(dice);
                   const double c = draw_double(dice, -1, 1);
                   const Reals z = draw_operand(dice, shape, -3, 3);
                   return Case{
                       "where(x < " + text(c) + ", y, z)",
                       {draw_reals(dice, shape, -3, 3), number(draw_double(dice, -3, 3)), z},
                       [c](const Arrays& in) {
                         return ts::where(in[0] < c, in[1] * 1, in[2] * ts::ones_like(in[0]));
                       },
                       [c](const Operands& o) {
                         Longs out;
                         for (std::size_t i = 0; i < o[0].size(); ++i)
                           out.push_back(o[0][i] < Long(c) ? o[1][0] : o[2][o[2].number ? 0 : i]);
                         return out;
                       }};
                 }});
  for (const bool method : {false, true})
    all.push_back(
        {method ? "Array::clip" : "clip", [=](Dice& dice) {
           return Case{"clip(x, y, z)",
                       {draw_reals(dice, draw_shape(dice), -3, 3), number(draw_double(dice, -2, 0)),
                        number(draw_double(dice, 0, 2))},
                       [=](const Arrays& in) {
                         return method ? in[0].clip(in[1], in[2]) : ts::clip(in[0], in[1], in[2]);
                       },
                       [](const Operands& o) {
                         return each(
                             o[0], [&](Long v) { return std::min(std::max(v, o[1][0]), o[2][0]); });
                       }};
         }});
  all.push_back({"around", [](Dice& dice) {
                   const int digits = static_cast<int>(dice.below(4));
                   return Case{"around(x, " + std::to_string(digits) + ")",
                               {draw_reals(dice, draw_shape(dice), -30, 30)},
                               [=](const Arrays& in) { return ts::around(in[0], digits); },
                               [=](const Operands& o) {
                                 const Long by = std::pow(10.0L, digits);
                                 return each(o[0],
                                             [&](Long v) { return std::nearbyint(v * by) / by; });
                               },
                               0,
                               false};
                 }});
  all.push_back({"ldexp", [](Dice& dice) {
                   return Case{
                       "ldexp(x, 3)",
                       {draw_reals(dice, draw_shape(dice), -3, 3)},
                       [](const Arrays& in) { return ts::ldexp(in[0], 3); },
                       [](const Operands& o) { return each(o[0], [](Long v) { return 8 * v; }); }};
                 }});
  all.push_back({"select", [](Dice& dice) {
                   const double c = draw_double(dice, 0, 1);
                   return Case{
                       "select({x < -" + text(c) + ", x < " + text(c) + "}, {y, x * y}, z)",
                       {draw_reals(dice, draw_shape(dice), -3, 3), number(draw_double(dice, -3, 3)),
                        number(draw_double(dice, -3, 3))},
                       [c](const Arrays& in) {
                         const Array y = in[1] * ts::ones_like(in[0]);
                         return ts::select({in[0] < -c, in[0] < c}, {y, in[0] * in[1]}, in[2]);
                       },
                       [c](const Operands& o) {
                         return each(o[0], [&](Long v) {
                           return v < Long(-c) ? o[1][0] : v < Long(c) ? v * o[1][0] : o[2][0];
                         });
                       }};
                 }});
  return all;
}

std::vector<Row> special_rows() {
  const auto beta_log = [](Long a, Long b) {
    return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  };
  const auto ndtr = [](Long x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; };
  const auto xlogx = [](Long x) { return x * std::log(x); };
  const auto boxcox = [](Long x, Long l) { return std::expm1(l * std::log(x)) / l; };
  // The series of the lower incomplete gamma function.
  const auto lower = [](Long a, Long x) {
    Long term = 1 / a, sum = term;
    for (int n = 1; n < 400; ++n) sum += term *= x / (a + static_cast<Long>(n));
    return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
  };
  const auto bessel = [](Long order, bool scaled) {
    return [order, scaled](Long x) {
      return std::cyl_bessel_i(order, x) * (scaled ? std::exp(-x) : 1);
    };
  };
  const Range positive{0.3, 4}, more{1.1, 4}, small{0.2, 1.5};
  return {
      one(
          "gammaln", ts::gammaln, [](Long x) { return std::lgamma(x); }, 0.2, 6, 2),
      one(
          "gamma", ts::gamma, [](Long x) { return std::tgamma(x); }, 0.3, 5, 8),
      one(
          "factorial", ts::factorial, [](Long x) { return std::tgamma(x + 1); }, 0.2, 4, 8),
      one(
          "gammasgn", ts::gammasgn, [](Long) -> Long { return 1; }, 0.2, 4),
      one(
          "expi", ts::expi, [](Long x) { return std::expint(x); }, 0.5, 4, 2),
      one(
          "exp1", ts::exp1, [](Long x) { return -std::expint(-x); }, 0.3, 4),
      one("i0", ts::i0, bessel(0, false), 0.2, 5),
      one("i1", ts::i1, bessel(1, false), 0.2, 5),
      one("i0e", ts::i0e, bessel(0, true), 0.2, 5),
      one("i1e", ts::i1e, bessel(1, true), 0.2, 5),
      one("ndtr", ts::ndtr, ndtr, -3, 3, 1),
      one(
          "log_ndtr", ts::log_ndtr, [=](Long x) { return std::log(ndtr(x)); }, -3, 3, 1),
      one(
          "ndtri", ts::ndtri, [](Long p) { return std::sqrt(2.0L) * erf_inv(2 * p - 1); }, 0.1, 0.9,
          1),
      one(
          "logit", ts::logit, [](Long x) { return std::log(x / (1 - x)); }, 0.1, 0.9, 1),
      one(
          "entr", ts::entr, [=](Long x) { return -xlogx(x); }, 0.1, 4, 1),
      one(
          "erfcx", ts::erfcx, [](Long x) { return std::exp(x * x) * std::erfc(x); }, -1, 3, 2),
      two(
          "beta", ts::beta, [=](Long a, Long b) { return std::exp(beta_log(a, b)); }, positive,
          positive, 8),
      two("betaln", ts::betaln, beta_log, positive, positive, 8),
      two(
          "poch", ts::poch,
          [](Long z, Long m) { return std::exp(std::lgamma(z + m) - std::lgamma(z)); }, positive,
          positive, 60),
      two(
          "comb", ts::comb,
          [=](Long n, Long k) { return std::exp(-beta_log(n - k + 1, k + 1)) / (n + 1); }, more,
          {0.2, 1.05}, 8),
      two("boxcox", ts::boxcox, boxcox, positive, small, 2),
      two(
          "boxcox1p", ts::boxcox1p, [=](Long x, Long l) { return boxcox(1 + x, l); }, positive,
          small, 2),
      two(
          "xlogy", ts::xlogy, [](Long x, Long y) { return x * std::log(y); }, positive, positive,
          1),
      two(
          "xlog1py", ts::xlog1py, [](Long x, Long y) { return x * std::log1p(y); }, positive,
          positive),
      two(
          "rel_entr", ts::rel_entr, [](Long x, Long y) { return x * std::log(x / y); }, positive,
          positive, 4),
      two(
          "kl_div", ts::kl_div, [](Long x, Long y) { return x * std::log(x / y) - x + y; },
          positive, positive, 8),
      two("gammainc", ts::gammainc, lower, positive, positive, 8),
      two(
          "gammaincc", ts::gammaincc, [=](Long a, Long x) { return 1 - lower(a, x); }, positive,
          positive, 8),
      two("igamma", ts::igamma, lower, positive, positive, 8),
      two(
          "igammac", ts::igammac, [=](Long a, Long x) { return 1 - lower(a, x); }, positive,
          positive, 8),
  };
}

}  // namespace doubles
