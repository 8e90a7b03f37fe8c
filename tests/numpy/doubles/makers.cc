// Functions that make arrays of numbers, and those that place numbers in arrays.
#include "numpy/doubles/cases.h"

#include <algorithm>

namespace doubles {

namespace {

// The new array is multiplied by x, so that there is something to trace. Values between bounds are
// sums of terms as large as the bounds, which may cancel.
Row maker(const std::string& name,
          const std::function<std::pair<std::function<Array()>, Longs>(Dice&)>& draw,
          Long terms = 4) {
  return {name, [=](Dice& dice) {
            const auto [make, values] = draw(dice);
            return Case{name + "(...) * x",
                        {draw_reals(dice, {static_cast<std::int64_t>(values.size())}, 0.5, 2)},
                        [make = make](const Arrays& in) { return ts::ravel(make()) * in[0]; },
                        [values = values](const Operands& o) {
                          Longs out;
                          for (std::size_t i = 0; i < values.size(); ++i)
                            out.push_back(values[i] * o[0][i]);
                          return out;
                        },
                        terms};
          }};
}
using Made = std::pair<std::function<Array()>, Longs>;

Longs spaced(double start, double stop, std::int64_t n, bool endpoint) {
  Longs out;
  const Long steps = static_cast<Long>(endpoint ? n - 1 : n);
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back(static_cast<Long>(start) + (static_cast<Long>(stop) - static_cast<Long>(start)) *
                                                 static_cast<Long>(i) / std::max<Long>(1, steps));
  return out;
}

using Update = std::function<Array(const ts::At&, const Array&)>;
Row at_row(const std::string& name, const Update& f, const std::function<Long(Long, Long)>& g) {
  return {name, [=](Dice& dice) {
            const std::int64_t n = 2 + dice.below(5), i = dice.below(n), j = dice.below(n);
            const bool many = dice.toss();
            Case c{"x.at(" +
                       (many ? "{" + std::to_string(i) + ", " + std::to_string(j) + "}"
                             : std::to_string(i)) +
                       ")." + name.substr(4) + "(y)",
                   {draw_reals(dice, {n}, -3, 3), number(draw_double(dice, -3, 3))},
                   [=](const Arrays& in) {
                     if (!many) return f(in[0].at(i), in[1]);
                     return f(in[0].at(ts::array({i, j})), in[1]);
                   },
                   [=](const Operands& o) {
                     Longs out = o[0].at;
                     for (std::int64_t k : many ? std::vector{i, j} : std::vector{i}) {
                       Long& v = out[static_cast<std::size_t>(k)];
                       v = g(v, o[1][0]);
                     }
                     return out;
                   }};
            return c;
          }};
}

}  // namespace

std::vector<Row> maker_rows() {
  std::vector<Row> all{
      maker("full",
            [](Dice& dice) {
              const double c = draw_double(dice, -3, 3);
              return Made{[=] { return ts::full({3}, c, ts::f64); }, Longs(3, c)};
            }),
      maker("array",
            [](Dice& dice) {
              const double a = draw_double(dice, -3, 3), b = draw_double(dice, -3, 3);
              return Made{[=] {
                            return ts::array({{a, b}, {b, 0.1}}, ts::f64);
                          },
                          {a, b, b, Long(0.1)}};
            }),
      maker("asarray",
            [](Dice& dice) {
              const double a = draw_double(dice, -3, 3);
              return Made{[=] { return ts::asarray(a, ts::f64); }, {a}};
            }),
      maker("astype",
            [](Dice& dice) {
              const double a = draw_double(dice, -3, 3);
              return Made{[=] { return ts::astype(a, ts::f64); }, {a}};
            }),
      maker("arange",
            [](Dice& dice) {
              const double start = draw_double(dice, -3, 3), step = draw_double(dice, 0.1, 2);
              Longs values;
              for (int i = 0; i < 5; ++i) values.push_back(start + static_cast<Long>(step) * i);
              return Made{[=] { return ts::arange(start, start + step * 4.5, step, ts::f64); },
                          values};
            }),
      maker("linspace",
            [](Dice& dice) {
              const double start = draw_double(dice, -3, 0), stop = draw_double(dice, 0, 3);
              const std::int64_t n = 1 + dice.below(6);
              const bool end = dice.toss();
              return Made{[=] { return ts::linspace(start, stop, n, end, ts::f64); },
                          spaced(start, stop, n, end)};
            }),
      maker("logspace",
            [](Dice& dice) {
              const double start = draw_double(dice, -1, 0), stop = draw_double(dice, 0, 1),
                           base = draw_double(dice, 2, 9);
              const bool end = dice.toss();
              Longs values = spaced(start, stop, 5, end);
              for (Long& v : values) v = std::pow(static_cast<Long>(base), v);
              return Made{[=] { return ts::logspace(start, stop, 5, end, base, ts::f64); }, values};
            }),
      maker("geomspace",
            [](Dice& dice) {
              const double start = draw_double(dice, 0.1, 1), stop = draw_double(dice, 2, 9);
              const bool end = dice.toss();
              Longs values = spaced(0, 1, 5, end);
              for (Long& v : values)
                v = static_cast<Long>(start) *
                    std::pow(static_cast<Long>(stop) / static_cast<Long>(start), v);
              return Made{[=] { return ts::geomspace(start, stop, 5, end, ts::f64); }, values};
            }),
      maker("fft::fftfreq",
            [](Dice& dice) {
              const double d = draw_double(dice, 0.1, 2);
              Longs values;
              for (int i : {0, 1, 2, -2, -1}) values.push_back(i / (5 * static_cast<Long>(d)));
              return Made{[=] { return ts::fft::fftfreq(5, d, ts::f64); }, values};
            }),
      maker("fft::rfftfreq",
            [](Dice& dice) {
              const double d = draw_double(dice, 0.1, 2);
              Longs values;
              for (int i : {0, 1, 2}) values.push_back(i / (5 * static_cast<Long>(d)));
              return Made{[=] { return ts::fft::rfftfreq(5, d, ts::f64); }, values};
            }),
      maker(
          "random::uniform",
          [](Dice& dice) {
            const double low = draw_double(dice, -3, 0), high = draw_double(dice, 0.5, 3);
            const Array key = ts::random::key(static_cast<std::uint64_t>(dice.below(100)));
            Longs values;
            for (double u : ts::random::uniform(key, {4}, ts::f64).to_vector<double>())
              values.push_back(static_cast<Long>(u) *
                                   (static_cast<Long>(high) - static_cast<Long>(low)) +
                               static_cast<Long>(low));
            return Made{[=] { return ts::random::uniform(key, {4}, ts::f64, low, high); }, values};
          }),
      maker("initializers::constant",
            [](Dice& dice) {
              const double c = draw_double(dice, -3, 3);
              return Made{[=] {
                            return ts::nn::initializers::constant(c)(ts::random::key(0), {3},
                                                                     ts::f64);
                          },
                          Longs(3, c)};
            }),
  };
  // Draws computed from uniform ones.
  const auto drawn = [&](const std::string& name,
                         const std::function<Array(Array, double, double)>& make,
                         const std::function<Long(Long u, Long low, Long high)>& oracle) {
    all.push_back(maker(name, [=](Dice& dice) {
      const double low = draw_double(dice, -2, -0.1), high = draw_double(dice, 0.1, 2);
      const Array key = ts::random::key(static_cast<std::uint64_t>(dice.below(100)));
      Longs values;
      for (double u : ts::random::uniform(key, {4}, ts::f64).to_vector<double>())
        values.push_back(oracle(u, low, high));
      return Made{[=] { return make(key, low, high); }, values};
    }));
  };
  drawn(
      "random::exponential",
      [](const Array& key, double, double) { return ts::random::exponential(key, {4}, ts::f64); },
      [](Long u, Long, Long) { return -std::log1p(-u); });
  drawn(
      "random::gumbel",
      [](const Array& key, double, double) { return ts::random::gumbel(key, {4}, ts::f64); },
      [](Long u, Long, Long) { return -std::log(-std::log(u)); });
  drawn(
      "random::normal",
      [](const Array& key, double, double) { return ts::random::normal(key, {4}, ts::f64); },
      [](Long u, Long, Long) {
        const Long least = -1 + 0x1p-53L;
        return std::sqrt(2.0L) * erf_inv(u * (1 - least) + least);
      });
  drawn(
      "random::truncated_normal",
      [](const Array& key, double low, double high) {
        return ts::random::truncated_normal(key, low, high, {4}, ts::f64);
      },
      [](Long u, Long low, Long high) {
        const Long root = std::sqrt(2.0L), a = std::erf(low / root), b = std::erf(high / root);
        return root * erf_inv(u * (b - a) + a);
      });
  drawn(
      "initializers::variance_scaling",
      [](const Array& key, double, double high) {
        return ts::nn::initializers::variance_scaling(high, "fan_in", "uniform")(key, {2, 2},
                                                                                 ts::f64);
      },
      [](Long u, Long, Long high) { return (2 * u - 1) * std::sqrt(3 * high / 2); });
  // Initialisers scale the draws of `random`.
  const auto scaled = [&](const std::string& name, auto make, auto unit) {
    all.push_back(maker(name, [=](Dice& dice) {
      const double scale = draw_double(dice, 0.1, 3);
      const Array key = ts::random::key(static_cast<std::uint64_t>(dice.below(100)));
      Longs values;
      for (double u : unit(key).template to_vector<double>())
        values.push_back(static_cast<Long>(u) * static_cast<Long>(scale));
      return Made{[=] { return make(scale)(key, {4}, ts::f64); }, values};
    }));
  };
  namespace random = ts::random;
  scaled(
      "initializers::normal", [](double s) { return ts::nn::initializers::normal(s); },
      [](const Array& key) { return random::normal(key, {4}, ts::f64); });
  scaled(
      "initializers::uniform", [](double s) { return ts::nn::initializers::uniform(s); },
      [](const Array& key) { return random::uniform(key, {4}, ts::f64); });
  scaled(
      "initializers::truncated_normal",
      [](double s) { return ts::nn::initializers::truncated_normal(s, -1.3, 1.7); },
      [](const Array& key) { return random::truncated_normal(key, -1.3, 1.7, {4}, ts::f64); });
  all.push_back(
      {"full_like", [](Dice& dice) {
         return Case{"full_like(x, y) + x",
                     {draw_reals(dice, draw_shape(dice), -3, 3), number(draw_double(dice, -3, 3))},
                     [](const Arrays& in) { return ts::full_like(in[0], in[1]) + in[0]; },
                     [](const Operands& o) {
                       return each(o[0], o[1], [](Long x, Long y) { return x + y; });
                     }};
       }});
  return all;
}

std::vector<Row> position_rows() {
  std::vector<Row> all{
      at_row(
          "At::set", [](const ts::At& at, const Array& v) { return at.set(v); },
          [](Long, Long v) { return v; }),
      at_row(
          "At::add", [](const ts::At& at, const Array& v) { return at.add(v); },
          [](Long x, Long v) { return x + v; }),
      at_row(
          "At::multiply", [](const ts::At& at, const Array& v) { return at.multiply(v); },
          [](Long x, Long v) { return x * v; }),
      at_row(
          "At::min", [](const ts::At& at, const Array& v) { return at.min(v); },
          [](Long x, Long v) { return std::min(x, v); }),
      at_row(
          "At::max", [](const ts::At& at, const Array& v) { return at.max(v); },
          [](Long x, Long v) { return std::max(x, v); }),
  };
  // Numbers among the elements of an array.
  const auto among = [&](const std::string& name, const std::function<Array(Array, Array)>& f,
                         const std::function<Longs(const Longs&, Long)>& g) {
    all.push_back({name, [=](Dice& dice) {
                     return Case{name + " of x and the number y",
                                 {draw_reals(dice, {3}, -3, 3), number(draw_double(dice, -3, 3))},
                                 [f](const Arrays& in) { return f(in[0], in[1]); },
                                 [g](const Operands& o) { return g(o[0].at, o[1][0]); }};
                   }});
  };
  const auto behind = [](Longs x, Long v) {
    x.push_back(v);
    return x;
  };
  among(
      "pad",
      [](const Array& x, const Array& c) {
        return ts::pad(x, {{1, 2}}, c);
      },
      [](const Longs& x, Long c) { return Longs{c, x[0], x[1], x[2], c, c}; });
  among(
      "concatenate",
      [](const Array& x, const Array& c) {
        return ts::concatenate({x, ts::broadcast_to(c, {1})});
      },
      behind);
  among(
      "append",
      [](const Array& x, const Array& c) { return ts::append(x, ts::broadcast_to(c, {1})); },
      behind);
  among(
      "hstack",
      [](const Array& x, const Array& c) {
        return ts::hstack({x, c});
      },
      behind);
  among(
      "stack",
      [](const Array& x, const Array& c) {
        return ts::stack({x[0], c});
      },
      [](const Longs& x, Long c) {
        return Longs{x[0], c};
      });
  among(
      "dynamic_update_slice",
      [](const Array& x, const Array& c) {
        return ts::dynamic_update_slice(x, ts::broadcast_to(c, {1}), {Array(1)});
      },
      [](const Longs& x, Long c) {
        return Longs{x[0], c, x[2]};
      });
  among(
      "dynamic_update_index_in_dim",
      [](const Array& x, const Array& c) { return ts::dynamic_update_index_in_dim(x, c, 1); },
      [](const Longs& x, Long c) {
        return Longs{x[0], c, x[2]};
      });
  among(
      "place",
      [](const Array& x, const Array& c) {
        return ts::place(x, ts::array({true, false, true}), ts::broadcast_to(c, {1}));
      },
      [](const Longs& x, Long c) {
        return Longs{c, x[1], c};
      });
  among(
      "put_along_axis",
      [](const Array& x, const Array& c) { return ts::put_along_axis(x, ts::array({2}), c, 0); },
      [](const Longs& x, Long c) {
        return Longs{x[0], x[1], c};
      });
  among(
      "fill_diagonal",
      [](const Array& x, const Array& c) {
        return ts::fill_diagonal(ts::outer(x, ts::ones({3}, ts::f64)), c);
      },
      [](const Longs& x, Long c) { return Longs{c, x[0], x[0], x[1], c, x[1], x[2], x[2], c}; });
  among(
      "choose",
      [](const Array& x, const Array& c) {
        return ts::choose(ts::array({0, 1, 0}), {x, ts::broadcast_to(c, {3})});
      },
      [](const Longs& x, Long c) {
        return Longs{x[0], c, x[2]};
      });
  among(
      "polyadd",
      [](const Array& x, const Array& c) { return ts::polyadd(x, ts::broadcast_to(c, {1})); },
      [](const Longs& x, Long c) {
        return Longs{x[0], x[1], x[2] + c};
      });
  among(
      "polysub",
      [](const Array& x, const Array& c) { return ts::polysub(x, ts::broadcast_to(c, {1})); },
      [](const Longs& x, Long c) {
        return Longs{x[0], x[1], x[2] - c};
      });
  among(
      "outer", [](const Array& x, const Array& c) { return ts::outer(x, c); },
      [](const Longs& x, Long c) {
        return Longs{x[0] * c, x[1] * c, x[2] * c};
      });
  among(
      "kron", [](const Array& x, const Array& c) { return ts::kron(x, c); },
      [](const Longs& x, Long c) {
        return Longs{x[0] * c, x[1] * c, x[2] * c};
      });
  among(
      "dot", [](const Array& x, const Array& c) { return ts::dot(x, ts::broadcast_to(c, {3})); },
      [](const Longs& x, Long c) { return Longs{x[0] * c + x[1] * c + x[2] * c}; });
  // If positions are searched, all digits of the number count.
  all.push_back(
      {"searchsorted", [](Dice& dice) {
         const double c = draw_double(dice, -1, 1);
         return Case{
             "searchsorted(x, y)",
             {{{3}, {std::nextafter(c, -9.0), c, std::nextafter(c, 9.0)}}, number(c)},
             [](const Arrays& in) { return ts::searchsorted(in[0], in[1]).astype(ts::f64); },
             [](const Operands&) { return Longs{1}; },
             0,
             false,
             false};
       }});
  all.push_back({"digitize", [](Dice& dice) {
                   const double c = draw_double(dice, -1, 1);
                   return Case{
                       "digitize(y, x)",
                       {{{3}, {std::nextafter(c, -9.0), c, std::nextafter(c, 9.0)}}, number(c)},
                       [](const Arrays& in) { return ts::digitize(in[1], in[0]).astype(ts::f64); },
                       [](const Operands&) { return Longs{2}; },
                       0,
                       false,
                       false};
                 }});
  all.push_back({"isin", [](Dice& dice) {
                   const double c = draw_double(dice, -1, 1);
                   return Case{
                       "isin(x, y)",
                       {{{3}, {std::nextafter(c, -9.0), c, std::nextafter(c, 9.0)}}, number(c)},
                       [](const Arrays& in) { return ts::isin(in[0], in[1]).astype(ts::f64); },
                       [](const Operands&) {
                         return Longs{0, 1, 0};
                       },
                       0,
                       false,
                       false};
                 }});
  return all;
}

}  // namespace doubles
