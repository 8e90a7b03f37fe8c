// Programs of several functions with numbers between them.
#include "numpy/doubles/cases.h"

#include <algorithm>

namespace doubles {

namespace {

// An expression of elements of x and y, on arrays and on one real number; its values stay small.
struct Expression {
  std::string text;
  std::function<Array(const Array&, const Array&)> f;
  std::function<Long(Long, Long)> g;
};

using F = std::function<Array(const Array&)>;
using G = std::function<Long(Long)>;
Expression of(const std::string& name, const Expression& e, const F& f, const G& g) {
  return {name + "(" + e.text + ")",
          [=, inner = e.f](const Array& x, const Array& y) { return f(inner(x, y)); },
          [=, inner = e.g](Long x, Long y) { return g(inner(x, y)); }};
}

Expression draw(Dice& dice, int depth) {
  if (depth == 0 || dice.once_in(6)) {
    if (dice.toss())
      return {"x", [](const Array& x, const Array&) { return x; }, [](Long x, Long) { return x; }};
    return {"y", [](const Array&, const Array& y) { return y; }, [](Long, Long y) { return y; }};
  }
  const double c = draw_double(dice, 0.1, 0.9), d = draw_double(dice, 0.1, 0.9);
  const std::string number = text(c);
  const auto below = [&] { return draw(dice, depth - 1); };
  switch (dice.below(22)) {
    case 0:
      return of(
          number + " * ", below(), [=](const Array& v) { return c * v; },
          [=](Long v) { return Long(c) * v; });
    case 1:
      return of(
          number + " + ", below(), [=](const Array& v) { return v + c; },
          [=](Long v) { return v + Long(c); });
    case 2:
      return of(
          number + " - ", below(), [=](const Array& v) { return c - v; },
          [=](Long v) { return Long(c) - v; });
    case 3:
      return of(
          number + " / 1 + square", below(),
          [=](const Array& v) { return c / (1 + ts::square(v)); },
          [=](Long v) { return Long(c) / (1 + v * v); });
    case 4:
      return of(
          "tanh", below(), [](const Array& v) { return ts::tanh(v); },
          [](Long v) { return std::tanh(v); });
    case 5:
      return of(
          "sin", below(), [](const Array& v) { return ts::sin(v); },
          [](Long v) { return std::sin(v); });
    case 6:
      return of(
          "maximum " + number + ", ", below(), [=](const Array& v) { return ts::maximum(v, c); },
          [=](Long v) { return std::max(v, Long(c)); });
    case 7:
      return of(
          "clip -" + number + ", " + text(d) + ", ", below(),
          [=](const Array& v) { return ts::clip(v, -c, d); },
          [=](Long v) { return std::min(std::max(v, Long(-c)), Long(d)); });
    case 8:
      return of(
          "hypot " + number + ", ", below(), [=](const Array& v) { return ts::hypot(v, c); },
          [=](Long v) { return std::sqrt(v * v + Long(c) * Long(c)); });
    case 9:
      return of(
          "power 1 + square, " + number + ", ", below(),
          [=](const Array& v) { return ts::power(1 + ts::square(v), c); },
          [=](Long v) { return std::pow(1 + v * v, Long(c)); });
    case 10:
      return of(
          "power of " + number + ", tanh ", below(),
          [=](const Array& v) { return ts::power(c, ts::tanh(v)); },
          [=](Long v) { return std::pow(Long(c), std::tanh(v)); });
    case 11:
      return of(
          "softplus", below(), [](const Array& v) { return ts::nn::softplus(v); },
          [](Long v) { return softplus(v); });
    case 12:
      return of(
          "sigmoid", below(), [](const Array& v) { return ts::sigmoid(v); },
          [](Long v) { return sigmoid(v); });
    case 13:
      return of(
          "logaddexp " + number + ", ", below(),
          [=](const Array& v) { return ts::logaddexp(v, c); },
          [=](Long v) { return std::log(std::exp(v) + std::exp(Long(c))); });
    case 14:
      return of(
          "where < " + number + ", * " + text(d) + ", ", below(),
          [=](const Array& v) { return ts::where(v < c, v * d, 0.7); },
          [=](Long v) { return v < Long(c) ? v * Long(d) : Long(0.7); });
    case 15:
      return of(
          "elu " + number + ", ", below(), [=](const Array& v) { return ts::nn::elu(v, c); },
          [=](Long v) { return v > 0 ? v : Long(c) * std::expm1(v); });
    case 16:
      return of(
          "log1p square / " + number + ", ", below(),
          [=](const Array& v) { return ts::log1p(ts::square(v)) / c; },
          [=](Long v) { return std::log1p(v * v) / Long(c); });
    case 17:
      return of(
          "arctan2 " + number + ", ", below(), [=](const Array& v) { return ts::arctan2(v, c); },
          [=](Long v) { return std::atan2(v, Long(c)); });
    default: {
      const Expression a = below(), b = below();
      switch (dice.below(3)) {
        case 0:
          return {"(" + a.text + " * " + number + " + " + b.text + ")",
                  [=](const Array& x, const Array& y) { return a.f(x, y) * c + b.f(x, y); },
                  [=](Long x, Long y) { return a.g(x, y) * Long(c) + b.g(x, y); }};
        case 1:
          return {"(" + a.text + " * tanh " + b.text + ")",
                  [=](const Array& x, const Array& y) { return a.f(x, y) * ts::tanh(b.f(x, y)); },
                  [=](Long x, Long y) { return a.g(x, y) * std::tanh(b.g(x, y)); }};
        default:
          return {"(" + a.text + " / (" + text(1 + d) + " + square " + b.text + "))",
                  [=](const Array& x, const Array& y) {
                    return a.f(x, y) / ((1 + d) + ts::square(b.f(x, y)));
                  },
                  [=](Long x, Long y) {
                    const Long v = b.g(x, y);
                    return a.g(x, y) / (Long(1 + d) + v * v);
                  }};
      }
    }
  }
}

}  // namespace

std::vector<Row> program_rows() {
  return {{"Programs", [](Dice& dice) {
             const Shape shape = draw_shape(dice);
             const bool with_number = dice.toss();
             const Reals x = draw_reals(dice, shape, -1.5, 1.5),
                         y = with_number ? number(draw_double(dice, -1.5, 1.5))
                                         : draw_reals(dice, shape, -1.5, 1.5);
             const Expression e = draw(dice, 5);
             return Case{e.text,
                         {x, y},
                         [e](const Arrays& in) { return e.f(in[0], in[1]) + 0.1 * in[0]; },
                         [e](const Operands& o) {
                           return each(o[0], o[1],
                                       [&](Long a, Long b) { return e.g(a, b) + Long(0.1) * a; });
                         },
                         // Each of a dozen functions rounds values up to this size.
                         16};
           }}};
}

}  // namespace doubles
