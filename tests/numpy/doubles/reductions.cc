// Reductions with initial numbers, comparisons with tolerances, statistics.
#include "numpy/doubles/cases.h"

#include <algorithm>

namespace doubles {

namespace {

using Fold = std::function<Long(const Longs&)>;

// A reduction over the last axis of a matrix, or over all axes.
Row over(const std::string& name, const std::function<Array(Array, ts::AxisList)>& f, const Fold& g,
         double low, double high, Long terms = 0) {
  return {name, [=](Dice& dice) {
            const bool rows = dice.toss();
            const Shape shape = rows ? Shape{2, 4} : Shape{6};
            return Case{name + "(x" + (rows ? ", -1)" : ")"),
                        {draw_reals(dice, shape, low, high)},
                        [=](const Arrays& in) {
                          return f(in[0], rows ? ts::AxisList(-1) : ts::AxisList());
                        },
                        [=](const Operands& o) {
                          return each_row(o[0], [&](const Longs& row) { return Longs{g(row)}; });
                        },
                        terms};
          }};
}

// A reduction with .initial and .where.
Row folded(const std::string& name, Array (*f)(ts::Operand, const ts::ReduceOptions&),
           const std::function<Long(Long, Long)>& g, Long neutral) {
  return {name, [=](Dice& dice) {
            const double edge = draw_double(dice, -1, 1);
            const bool masked = dice.toss(), started = dice.toss();
            return Case{name + "(x, {" + (started ? ".initial = y, " : "") +
                            (masked ? ".where = x < " + text(edge) : "") + "})",
                        {draw_reals(dice, {2, 4}, -2, 2), number(draw_double(dice, 0.5, 3))},
                        [=](const Arrays& in) {
                          ts::ReduceOptions o{.axis = -1};
                          if (started || std::isinf(neutral)) o.initial = in[1];
                          if (masked) o.where = in[0] < edge;
                          return f(in[0], o);
                        },
                        [=](const Operands& o) {
                          return each_row(o[0], [&](const Longs& row) {
                            Long s = started || std::isinf(neutral) ? o[1][0] : neutral;
                            for (Long v : row)
                              if (!masked || v < Long(edge)) s = g(s, v);
                            return Longs{s};
                          });
                        },
                        4};
          }};
}

Long variance(const Longs& x, Long ddof = 0) {
  const Long m = mean_of(x);
  Long s = 0;
  for (Long v : x) s += (v - m) * (v - m);
  return s / (static_cast<Long>(x.size()) - ddof);
}

Long quantile_of(Longs x, Long q, const std::string& method) {
  std::sort(x.begin(), x.end());
  const Long at = q * static_cast<Long>(x.size() - 1), below = std::floor(at), share = at - below;
  const Long low = x[static_cast<std::size_t>(below)],
             high = x[std::min(static_cast<std::size_t>(below) + 1, x.size() - 1)];
  if (method == "midpoint") return share == 0 ? low : (low + high) / 2;
  return low + (high - low) * share;
}

Row quantiles(const std::string& name,
              Array (*f)(ts::Operand, ts::Operand, const ts::QuantileOptions&), double of) {
  return {name, [=](Dice& dice) {
            const std::string method = dice.once_in(4) ? "midpoint" : "linear";
            // The quantile is away from the positions of the elements, where rounding would choose
            // another pair.
            const double q =
                draw_double(dice, 0.05, 0.2) + 0.25 * static_cast<double>(dice.below(4));
            return Case{
                name + "(x, y), " + method,
                {draw_reals(dice, {2, 5}, -3, 3), number(q * of)},
                [=](const Arrays& in) { return f(in[0], in[1], {.axis = -1, .method = method}); },
                [=](const Operands& o) {
                  return each_row(o[0], [&](const Longs& row) {
                    return Longs{quantile_of(row, o[1][0] / Long(of), method)};
                  });
                },
                2};
          }};
}

// Two numbers whose difference is just within the tolerance, or just beyond it.
Row close(const std::string& name, bool all) {
  return {name, [=](Dice& dice) {
            const double rtol = draw_double(dice, 1e-4, 1e-3), atol = draw_double(dice, 1e-5, 1e-4),
                         y = draw_double(dice, 0.5, 2);
            const double most = atol + rtol * y;
            const Reals x{{2}, {y + most * (1 - 1e-9), y + most * (all ? 1 - 2e-9 : 1 + 1e-9)}};
            return Case{name + "(x, y, " + text(rtol) + ", " + text(atol) + ")",
                        {x, number(y)},
                        [=](const Arrays& in) {
                          return (all ? ts::allclose(in[0], in[1], rtol, atol)
                                      : ts::isclose(in[0], in[1], rtol, atol))
                              .astype(ts::f64);
                        },
                        [=](const Operands&) {
                          return all ? Longs{1} : Longs{1, 0};
                        },
                        0,
                        false,
                        false};
          }};
}

}  // namespace

std::vector<Row> reduction_rows() {
  const Fold logsumexp = [](const Longs& x) {
    Long s = 0;
    for (Long v : x) s += std::exp(v);
    return std::log(s);
  };
  const Fold deviation = [](const Longs& x) { return std::sqrt(variance(x)); };
  const Fold median = [](const Longs& x) { return quantile_of(x, 0.5L, "linear"); };
  const Fold largest = [](const Longs& x) { return *std::max_element(x.begin(), x.end()); };
  const Fold least = [](const Longs& x) { return *std::min_element(x.begin(), x.end()); };
  const Fold product = [](const Longs& x) {
    Long p = 1;
    for (Long v : x) p *= v;
    return p;
  };
  using Axes = ts::AxisList;
  std::vector<Row> all{
      folded(
          "sum", ts::sum, [](Long s, Long v) { return s + v; }, 0),
      folded(
          "prod", ts::prod, [](Long s, Long v) { return s * v; }, 1),
      folded(
          "max", ts::max, [](Long s, Long v) { return std::max(s, v); }, -HUGE_VALL),
      folded(
          "min", ts::min, [](Long s, Long v) { return std::min(s, v); }, HUGE_VALL),
      folded(
          "nansum", ts::nansum, [](Long s, Long v) { return s + v; }, 0),
      folded(
          "nanprod", ts::nanprod, [](Long s, Long v) { return s * v; }, 1),
      over(
          "mean", [](const Array& x, const Axes& a) { return ts::mean(x, {.axis = a}); }, mean_of,
          -3, 3, 3),
      over(
          "var", [](const Array& x, const Axes& a) { return ts::var(x, {.axis = a}); },
          [](const Longs& x) { return variance(x); }, -3, 3, 9),
      over(
          "var", [](const Array& x, const Axes& a) { return ts::var(x, {.axis = a, .ddof = 1}); },
          [](const Longs& x) { return variance(x, 1); }, -3, 3, 9),
      over(
          "std", [](const Array& x, const Axes& a) { return ts::std(x, {.axis = a}); }, deviation,
          -3, 3, 9),
      over(
          "nanmean", [](const Array& x, const Axes& a) { return ts::nanmean(x, {.axis = a}); },
          mean_of, -3, 3, 3),
      over(
          "nanvar", [](const Array& x, const Axes& a) { return ts::nanvar(x, {.axis = a}); },
          [](const Longs& x) { return variance(x); }, -3, 3, 9),
      over(
          "nanstd", [](const Array& x, const Axes& a) { return ts::nanstd(x, {.axis = a}); },
          deviation, -3, 3, 9),
      over(
          "nanmax", [](const Array& x, const Axes& a) { return ts::nanmax(x, {.axis = a}); },
          largest, -3, 3),
      over(
          "nanmin", [](const Array& x, const Axes& a) { return ts::nanmin(x, {.axis = a}); }, least,
          -3, 3),
      over(
          "ptp", [](const Array& x, const Axes& a) { return ts::ptp(x, {.axis = a}); },
          [=](const Longs& x) { return largest(x) - least(x); }, -3, 3),
      over(
          "median", [](const Array& x, const Axes& a) { return ts::median(x, {.axis = a}); },
          median, -3, 3),
      over(
          "nanmedian", [](const Array& x, const Axes& a) { return ts::nanmedian(x, {.axis = a}); },
          median, -3, 3),
      over(
          "logsumexp", [](const Array& x, const Axes& a) { return ts::logsumexp(x, {.axis = a}); },
          logsumexp, -3, 3, 3),
      over(
          "norm", [](const Array& x, const Axes& a) { return ts::norm(x, {.axis = a}); },
          [](const Longs& x) {
            Long s = 0;
            for (Long v : x) s += v * v;
            return std::sqrt(s);
          },
          -3, 3),
      quantiles("quantile", ts::quantile, 1),
      quantiles("nanquantile", ts::nanquantile, 1),
      quantiles("percentile", ts::percentile, 100),
      quantiles("nanpercentile", ts::nanpercentile, 100),
      close("isclose", false),
      close("allclose", true),
  };
  all.push_back({"norm", [](Dice& dice) {
                   const double p = draw_double(dice, 1.2, 4);
                   return Case{
                       "norm(x, {.ord = " + text(p) + "})",
                       {draw_reals(dice, {5}, -3, 3)},
                       [p](const Arrays& in) { return ts::norm(in[0], {.axis = -1, .ord = p}); },
                       [p](const Operands& o) {
                         Long s = 0;
                         for (Long v : o[0].at) s += std::pow(std::fabs(v), Long(p));
                         return Longs{std::pow(s, 1 / Long(p))};
                       },
                       8};
                 }});
  all.push_back({"average", [](Dice& dice) {
                   return Case{
                       "average(x, {.weights = y})",
                       {draw_reals(dice, {4}, -3, 3), draw_reals(dice, {4}, 0.2, 2)},
                       [](const Arrays& in) { return ts::average(in[0], {.weights = in[1]}); },
                       [](const Operands& o) {
                         Long s = 0;
                         for (std::size_t i = 0; i < 4; ++i) s += o[0][i] * o[1][i];
                         return Longs{s / sum_of(o[1].at)};
                       },
                       3};
                 }});
  const auto running = [&](const std::string& name,
                           Array (*f)(ts::Operand, const ts::CumulativeOptions&), auto g) {
    all.push_back({name, [=](Dice& dice) {
                     return Case{name + "(x)",
                                 {draw_reals(dice, {5}, -2, 2)},
                                 [=](const Arrays& in) { return f(in[0], {.axis = 0}); },
                                 [=](const Operands& o) {
                                   Longs out{o[0][0]};
                                   for (std::size_t i = 1; i < o[0].size(); ++i)
                                     out.push_back(g(out.back(), o[0][i]));
                                   return out;
                                 },
                                 8};
                   }});
  };
  running("cumsum", ts::cumsum, [](Long s, Long v) { return s + v; });
  running("cumprod", ts::cumprod, [](Long s, Long v) { return s * v; });
  all.push_back({"cumlogsumexp", [](Dice& dice) {
                   return Case{"cumlogsumexp(x)",
                               {draw_reals(dice, {5}, -2, 2)},
                               [](const Arrays& in) { return ts::cumlogsumexp(in[0]); },
                               [](const Operands& o) {
                                 Longs out;
                                 Long s = 0;
                                 for (Long v : o[0].at) out.push_back(std::log(s += std::exp(v)));
                                 return out;
                               },
                               4};
                 }});
  const auto covariance = [](const Reals& x, std::size_t i, std::size_t j, Long ddof) {
    Longs a, b;
    for (std::size_t k = 0; k < 4; ++k) a.push_back(x(i, k)), b.push_back(x(j, k));
    Long s = 0;
    for (std::size_t k = 0; k < 4; ++k) s += (a[k] - mean_of(a)) * (b[k] - mean_of(b));
    return s / (4 - ddof);
  };
  all.push_back({"cov", [=](Dice& dice) {
                   const int ddof = static_cast<int>(dice.below(2));
                   return Case{"cov(x)",
                               {draw_reals(dice, {2, 4}, -2, 2)},
                               [=](const Arrays& in) { return ts::cov(in[0], {.ddof = ddof}); },
                               [=](const Operands& o) {
                                 Longs out;
                                 for (std::size_t i : {0, 1})
                                   for (std::size_t j : {0, 1})
                                     out.push_back(covariance(o[0], i, j, ddof));
                                 return out;
                               },
                               4};
                 }});
  all.push_back({"corrcoef", [=](Dice& dice) {
                   return Case{"corrcoef(x)",
                               {draw_reals(dice, {2, 4}, -2, 2)},
                               [=](const Arrays& in) { return ts::corrcoef(in[0]); },
                               [=](const Operands& o) {
                                 const Long both = covariance(o[0], 0, 1, 1) /
                                                   std::sqrt(covariance(o[0], 0, 0, 1) *
                                                             covariance(o[0], 1, 1, 1));
                                 return Longs{1, both, both, 1};
                               },
                               8};
                 }});
  all.push_back({"histogram_bin_edges", [](Dice& dice) {
                   const double low = draw_double(dice, -3, 0), high = draw_double(dice, 0.5, 3);
                   return Case{"histogram_bin_edges(x, {.bins = 4, .range = ...})",
                               {draw_reals(dice, {5}, -2, 2)},
                               [=](const Arrays& in) {
                                 return ts::histogram_bin_edges(
                                     in[0], {.bins = 4, .range = std::pair(low, high)});
                               },
                               [=](const Operands&) {
                                 Longs out;
                                 for (int i = 0; i <= 4; ++i)
                                   out.push_back(Long(low) + (Long(high) - Long(low)) * i / 4);
                                 return out;
                               },
                               3,
                               false,
                               false};
                 }});
  all.push_back(
      {"histogram", [](Dice& dice) {
         // Elements near an edge are on the right side of it.
         const double low = draw_double(dice, -3, 0), high = draw_double(dice, 0.5, 3);
         const Long edge = Long(low) + (Long(high) - Long(low)) / 4;
         return Case{
             "histogram(x, {.bins = 4, .range = ..., .density = true})",
             {{{3},
               {static_cast<double>(edge - 1e-12L), static_cast<double>(edge + 1e-12L), high}}},
             [=](const Arrays& in) {
               return ts::histogram(in[0],
                                    {.bins = 4, .range = std::pair(low, high), .density = true})
                   .counts;
             },
             [=](const Operands&) {
               const Long one = 4 / (3 * (Long(high) - Long(low)));
               return Longs{one, one, 0, one};
             },
             3,
             false,
             false};
       }});
  all.push_back({"bincount", [](Dice& dice) {
                   return Case{
                       "bincount({0, 2, 0}, {.weights = x, .length = 3})",
                       {draw_reals(dice, {3}, -3, 3)},
                       [](const Arrays& in) {
                         return ts::bincount(ts::array({0, 2, 0}), {.weights = in[0], .length = 3});
                       },
                       [](const Operands& o) {
                         return Longs{o[0][0] + o[0][2], 0, o[0][1]};
                       }};
                 }});
  return all;
}

}  // namespace doubles
