// Schedules and optimisers with drawn rates.
#include "numpy/doubles/cases.h"

#include <algorithm>

namespace doubles {

namespace {

namespace optim = ts::optim;

// The rates of some steps, times x. Steps are scalars, whose rates are doubles: an array of steps
// would give float32.
using Scheduled = std::pair<optim::Schedule, std::function<Long(Long)>>;
Row schedule(const std::string& name,
             const std::function<Scheduled(double a, double b, double c)>& make) {
  return {name, [=](Dice& dice) {
            const double a = draw_double(dice, 0.01, 1), b = draw_double(dice, 0.01, 1),
                         c = draw_double(dice, 0.3, 0.9);
            const auto [of, oracle] = make(a, b, c);
            std::vector<std::int64_t> steps;
            for (int i = 0; i < 3; ++i) steps.push_back(dice.below(12));
            return Case{name + " of " + text(a) + ", " + text(b) + ", " + text(c) +
                            " at three steps, times x",
                        {draw_reals(dice, {3}, 0.5, 2)},
                        [of = of, steps](const Arrays& in) {
                          Arrays rates;
                          for (std::int64_t t : steps)
                            rates.push_back(of(ts::full({}, t, ts::i32)) * ts::ones({}, ts::f64));
                          return ts::stack(rates) * in[0];
                        },
                        [oracle = oracle, steps](const Operands& o) {
                          Longs out;
                          for (std::size_t i = 0; i < 3; ++i)
                            out.push_back(oracle(static_cast<Long>(steps[i])) * o[0][i]);
                          return out;
                        },
                        2,
                        true,
                        false};
          }};
}
Long share(Long t, Long steps) { return std::min(std::max(t / steps, 0.0L), 1.0L); }
Long line(Long a, Long b, Long t, Long steps) { return a + (b - a) * share(t, steps); }
Long cosine(Long start, Long t, Long steps, Long alpha) {
  return start * ((1 - alpha) * (1 + std::cos(kPi * share(t, steps))) / 2 + alpha);
}

// Two steps with gradients y from parameters x, for each element separately.
using Steps = std::function<std::function<void(int t, Long g, Long& p)>()>;
Row optimiser(const std::string& name, const std::function<optim::Optimizer(double, double)>& make,
              const std::function<std::function<void(int, Long, Long&)>(Long, Long)>& oracle) {
  return {name, [=](Dice& dice) {
            const double rate = draw_double(dice, 0.01, 0.5), option = draw_double(dice, 0.1, 0.9);
            return Case{
                "two steps of " + name + "(" + text(rate) + ", ...), the option " + text(option),
                {draw_reals(dice, {3}, 0.3, 2), draw_reals(dice, {3}, 0.3, 2)},
                [=](const Arrays& in) {
                  const optim::Optimizer opt = make(rate, option);
                  Array p = in[0];
                  optim::State state = opt.init(p);
                  for (int t = 0; t < 2; ++t) {
                    auto [updates, next] = opt.update(in[1] * (t + 1), state, p);
                    p = optim::apply_updates(p, updates);
                    state = next;
                  }
                  return p;
                },
                [=](const Operands& o) {
                  Longs out;
                  for (std::size_t i = 0; i < 3; ++i) {
                    Long p = o[0][i];
                    const auto step = oracle(rate, option);
                    for (int t = 0; t < 2; ++t) step(t, o[1][i] * (t + 1), p);
                    out.push_back(p);
                  }
                  return out;
                },
                4};
          }};
}

}  // namespace

std::vector<Row> training_rows() {
  // Moments of one element.
  struct Moments {
    Long m = 0, v = 0;
  };
  const auto adam = [](Moments& s, int t, Long g, Long b1, Long b2, Long eps) {
    s.m = b1 * s.m + (1 - b1) * g, s.v = b2 * s.v + (1 - b2) * g * g;
    return s.m / (1 - std::pow(b1, t + 1)) / (std::sqrt(s.v / (1 - std::pow(b2, t + 1))) + eps);
  };
  const Long b1 = 0.9, b2 = 0.999, eps = 1e-8;
  const auto stepping = [](auto f) {
    return [f](Long rate, Long option) -> std::function<void(int, Long, Long&)> {
      return [f, rate, option, s = Moments()](int t, Long g, Long& p) mutable {
        f(s, rate, option, t, g, p);
      };
    };
  };
  return {
      schedule("optim::constant",
               [](double a, double, double) {
                 return Scheduled{optim::constant(a), [a](Long) { return Long(a); }};
               }),
      schedule("optim::linear_schedule",
               [](double a, double b, double) {
                 return Scheduled{optim::linear_schedule(a, b, 7),
                                  [=](Long t) { return line(a, b, t, 7); }};
               }),
      schedule("optim::cosine_decay",
               [](double a, double, double c) {
                 return Scheduled{optim::cosine_decay(a, 7, c),
                                  [=](Long t) { return cosine(a, t, 7, c); }};
               }),
      schedule("optim::exponential_decay",
               [](double a, double, double c) {
                 return Scheduled{optim::exponential_decay(a, 7, c),
                                  [=](Long t) { return Long(a) * std::pow(Long(c), t / 7); }};
               }),
      schedule("optim::warmup_cosine_decay",
               [](double a, double b, double c) {
                 return Scheduled{optim::warmup_cosine_decay(a, b, 3, 10, c * b), [=](Long t) {
                                    return t < 3 ? line(a, b, t, 3)
                                                 : cosine(b, t - 3, 7, Long(c * b) / Long(b));
                                  }};
               }),
      schedule("optim::polynomial_schedule",
               [](double a, double b, double c) {
                 return Scheduled{optim::polynomial_schedule(a, b, 1 + c, 7, 2), [=](Long t) {
                                    const Long left = 1 - share(t - 2, 7);
                                    return (Long(a) - Long(b)) * std::pow(left, Long(1 + c)) +
                                           Long(b);
                                  }};
               }),
      schedule("optim::piecewise_constant_schedule",
               [](double a, double b, double c) {
                 return Scheduled{optim::piecewise_constant_schedule(a, {{3, b}, {7, c}}),
                                  [=](Long t) {
                                    return Long(a) * (t < 3 ? 1 : Long(b)) * (t < 7 ? 1 : Long(c));
                                  }};
               }),
      schedule("optim::warmup_exponential_decay_schedule",
               [](double a, double b, double c) {
                 return Scheduled{
                     optim::warmup_exponential_decay_schedule(a, b, 3, 7, c), [=](Long t) {
                       return t < 3 ? line(a, b, t, 3) : Long(b) * std::pow(Long(c), (t - 3) / 7);
                     }};
               }),
      schedule("optim::linear_onecycle_schedule",
               [](double a, double b, double) {
                 return Scheduled{optim::linear_onecycle_schedule(10, a, 0.3, 0.8, 1 + b, 7),
                                  [=](Long t) {
                                    const Long low = Long(a) / Long(1 + b);
                                    return t < 3   ? line(low, a, t, 3)
                                           : t < 8 ? line(a, low, t - 3, 5)
                                                   : line(low, low / 7, t - 8, 2);
                                  }};
               }),
      schedule("optim::cosine_onecycle_schedule",
               [](double a, double b, double) {
                 return Scheduled{
                     optim::cosine_onecycle_schedule(10, a, 0.3, 1 + b, 7), [=](Long t) {
                       const Long low = Long(a) / Long(1 + b), end = low / 7;
                       const auto half = [](Long from, Long to, Long s) {
                         return to + (from - to) / 2 * (std::cos(kPi * s) + 1);
                       };
                       return t < 3 ? half(low, a, t / 3) : half(a, end, share(t - 3, 7));
                     }};
               }),
      optimiser(
          "optim::sgd", [](double r, double m) { return optim::sgd(r, m); },
          stepping([](Moments& s, Long r, Long keep, int, Long g, Long& p) {
            p -= r * (s.m = keep * s.m + g);
          })),
      optimiser(
          "optim::adam",
          [](double r, double o) {
            return optim::adam(r, {.b1 = o, .b2 = o * 0.5, .eps = o * 0.01});
          },
          stepping([=](Moments& s, Long r, Long o, int t, Long g, Long& p) {
            p -= r * adam(s, t, g, o, o / 2, static_cast<double>(o) * 0.01);
          })),
      optimiser(
          "optim::adamw", [](double r, double o) { return optim::adamw(r, o); },
          stepping([=](Moments& s, Long r, Long o, int t, Long g, Long& p) {
            p -= r * (adam(s, t, g, b1, b2, eps) + o * p);
          })),
      optimiser(
          "optim::rmsprop", [](double r, double o) { return optim::rmsprop(r, o, 0.1); },
          stepping([](Moments& s, Long r, Long o, int, Long g, Long& p) {
            s.v = o * s.v + (1 - o) * g * g;
            p -= r * g / std::sqrt(s.v + Long(0.1));
          })),
      optimiser(
          "optim::adagrad", [](double r, double o) { return optim::adagrad(r, o); },
          [](Long r, Long o) -> std::function<void(int, Long, Long&)> {
            return [r, s = o](int, Long g, Long& p) mutable {
              s += g * g;
              p -= r * g / std::sqrt(s + Long(1e-7));
            };
          }),
      optimiser(
          "optim::clip_by_value",
          [](double r, double o) {
            return optim::chain({optim::clip_by_value(o), optim::scale(-r)});
          },
          stepping(
              [](Moments&, Long r, Long o, int, Long g, Long& p) { p -= r * std::min(g, o); })),
      optimiser(
          "optim::add_decayed_weights",
          [](double r, double o) {
            return optim::chain({optim::add_decayed_weights(o), optim::scale(-r)});
          },
          stepping([](Moments&, Long r, Long o, int, Long g, Long& p) { p -= r * (g + o * p); })),
      optimiser(
          "optim::inject_hyperparams",
          [](double r, double o) {
            return optim::inject_hyperparams(
                [o](const optim::Hyperparams& h) { return optim::sgd(h.at("rate"), o); },
                {{"rate", r}});
          },
          stepping([](Moments& s, Long r, Long keep, int, Long g, Long& p) {
            p -= r * (s.m = keep * s.m + g);
          })),
      {"optim::incremental_update",
       [](Dice& dice) {
         const double step = draw_double(dice, 0.1, 0.9);
         return Case{
             "optim::incremental_update(x, y, " + text(step) + ")",
             {draw_reals(dice, {3}, -2, 2), draw_reals(dice, {3}, -2, 2)},
             [step](const Arrays& in) { return optim::incremental_update(in[0], in[1], step); },
             [step](const Operands& o) {
               return each(o[0], o[1],
                           [&](Long x, Long y) { return Long(step) * x + (1 - Long(step)) * y; });
             }};
       }},
  };
}

}  // namespace doubles
