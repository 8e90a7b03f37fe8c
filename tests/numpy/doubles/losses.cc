// Losses.
#include "numpy/doubles/cases.h"

#include <algorithm>

namespace doubles {

namespace {

namespace nn = ts::nn;

// A loss of each element of x and y; y may be a number.
Row loss(const std::string& name, const std::function<Array(Array, Array, double)>& f,
         const std::function<Long(Long, Long, Long)>& g, double low = -2, double high = 2) {
  return {name, [=](Dice& dice) {
            const Shape shape = draw_shape(dice);
            const double option = draw_double(dice, 0.2, 0.9);
            return Case{name + "(x, y), the option " + text(option),
                        {draw_reals(dice, shape, -3, 3), draw_reals(dice, shape, low, high)},
                        [=](const Arrays& in) { return f(in[0], in[1], option); },
                        [=](const Operands& o) {
                          return each(o[0], o[1], [&](Long x, Long y) { return g(x, y, option); });
                        },
                        4};
          }};
}
// A loss of each row.
Row row_loss(const std::string& name, const std::function<Array(Array, Array, double)>& f,
             const std::function<Longs(const Longs&, const Longs&, Long)>& g, double low,
             double high) {
  return {name, [=](Dice& dice) {
            const double option = draw_double(dice, 0.1, 0.9);
            return Case{
                name + "(x, y), the option " + text(option),
                {draw_reals(dice, {2, 3}, -3, 3), draw_reals(dice, {2, 3}, low, high)},
                [=](const Arrays& in) { return f(in[0], in[1], option); },
                [=](const Operands& o) {
                  Longs out;
                  for (std::size_t i : {0, 3})
                    for (Long v : g(Longs(o[0].at.begin() + static_cast<std::ptrdiff_t>(i),
                                          o[0].at.begin() + static_cast<std::ptrdiff_t>(i + 3)),
                                    Longs(o[1].at.begin() + static_cast<std::ptrdiff_t>(i),
                                          o[1].at.begin() + static_cast<std::ptrdiff_t>(i + 3)),
                                    option))
                      out.push_back(v);
                  return out;
                },
                4};
          }};
}
Long length(const Longs& x) {
  Long s = 0;
  for (Long v : x) s += v * v;
  return std::sqrt(s);
}
Long cosine(const Longs& x, const Longs& y, Long epsilon) {
  Long s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += x[i] * y[i];
  return s / std::max(length(x), epsilon) / std::max(length(y), epsilon);
}
Long binary(Long x, Long t) { return t * softplus(-x) + (1 - t) * softplus(x); }

}  // namespace

std::vector<Row> loss_rows() {
  std::vector<Row> all{
      loss(
          "nn::squared_error",
          [](const Array& x, const Array& y, double) { return nn::squared_error(x, y); },
          [](Long x, Long y, Long) { return (x - y) * (x - y); }),
      loss(
          "nn::l2_loss", [](const Array& x, const Array& y, double) { return nn::l2_loss(x, y); },
          [](Long x, Long y, Long) { return (x - y) * (x - y) / 2; }),
      loss(
          "nn::absolute_error",
          [](const Array& x, const Array& y, double) { return nn::absolute_error(x, y); },
          [](Long x, Long y, Long) { return std::fabs(x - y); }),
      loss(
          "nn::log_cosh", [](const Array& x, const Array& y, double) { return nn::log_cosh(x, y); },
          [](Long x, Long y, Long) { return std::log(std::cosh(x - y)); }),
      loss(
          "nn::hinge_loss",
          [](const Array& x, const Array& y, double) { return nn::hinge_loss(x, y); },
          [](Long x, Long y, Long) { return std::max(1 - x * y, 0.0L); }),
      loss(
          "nn::huber_loss",
          [](const Array& x, const Array& y, double d) { return nn::huber_loss(x, y, d); },
          [](Long x, Long y, Long d) {
            const Long e = std::fabs(x - y), n = std::min(e, d);
            return n * n / 2 + d * (e - n);
          }),
      loss(
          "nn::sigmoid_binary_cross_entropy",
          [](const Array& x, const Array& y, double) {
            return nn::sigmoid_binary_cross_entropy(x, y);
          },
          [](Long x, Long y, Long) { return binary(x, y); }, 0, 1),
      loss(
          "nn::sigmoid_focal_loss",
          [](const Array& x, const Array& y, double alpha) {
            return nn::sigmoid_focal_loss(x, y, alpha, 1.7);
          },
          [](Long x, Long t, Long alpha) {
            const Long p = sigmoid(x);
            return binary(x, t) * std::pow(p * (1 - t) + (1 - p) * t, Long(1.7)) *
                   (t * alpha + (1 - t) * (1 - alpha));
          },
          0, 1),
      row_loss(
          "nn::smooth_labels",
          [](const Array& x, const Array&, double a) { return nn::smooth_labels(x, a); },
          [](const Longs& x, const Longs&, Long a) {
            Longs out;
            for (Long v : x) out.push_back((1 - a) * v + a / 3);
            return out;
          },
          0, 1),
      row_loss(
          "nn::cosine_similarity",
          [](const Array& x, const Array& y, double e) { return nn::cosine_similarity(x, y, e); },
          [](const Longs& x, const Longs& y, Long e) { return Longs{cosine(x, y, e)}; }, -2, 2),
      row_loss(
          "nn::cosine_distance",
          [](const Array& x, const Array& y, double e) { return nn::cosine_distance(x, y, e); },
          [](const Longs& x, const Longs& y, Long e) { return Longs{1 - cosine(x, y, e)}; }, -2, 2),
      row_loss(
          "nn::kl_divergence",
          [](const Array& x, const Array& y, double) { return nn::kl_divergence(x, y); },
          [](const Longs& x, const Longs& y, Long) {
            Long s = 0;
            for (std::size_t i = 0; i < 3; ++i) s += y[i] * (std::log(y[i]) - x[i]);
            return Longs{s};
          },
          0.1, 1),
      row_loss(
          "nn::softmax_cross_entropy",
          [](const Array& x, const Array& y, double) { return nn::softmax_cross_entropy(x, y); },
          [](const Longs& x, const Longs& y, Long) {
            Long s = 0;
            for (std::size_t i = 0; i < 3; ++i) s -= y[i] * log_softmax(x)[i];
            return Longs{s};
          },
          0.1, 1),
      row_loss(
          "nn::softmax_cross_entropy_with_integer_labels",
          [](const Array& x, const Array&, double) {
            return nn::softmax_cross_entropy_with_integer_labels(x, ts::array({1, 1}));
          },
          [](const Longs& x, const Longs&, Long) { return Longs{-log_softmax(x)[1]}; }, 0, 1),
  };
  all.push_back({"nn::masked_mean", [](Dice& dice) {
                   return Case{"nn::masked_mean(x, {1, 0, 1})",
                               {draw_reals(dice, {3}, -3, 3)},
                               [](const Arrays& in) {
                                 return nn::masked_mean(in[0], ts::array({1, 0, 1}));
                               },
                               [](const Operands& o) { return Longs{(o[0][0] + o[0][2]) / 2}; },
                               3};
                 }});
  all.push_back(
      {"nn::ctc_loss", [](Dice& dice) {
         // One label in two frames: twice the label, or a blank before or after it.
         return Case{"nn::ctc_loss(x, zeros, {{1}}, zeros)",
                     {draw_reals(dice, {1, 2, 3}, -2, 2)},
                     [](const Arrays& in) {
                       return nn::ctc_loss(in[0], ts::zeros({1, 2}, ts::f64), ts::array({{1}}),
                                           ts::zeros({1, 1}, ts::f64));
                     },
                     [](const Operands& o) {
                       const Longs& x = o[0].at;
                       const Longs a = softmax({x[0], x[1], x[2]}), b = softmax({x[3], x[4], x[5]});
                       return Longs{-std::log(a[1] * b[1] + a[0] * b[1] + a[1] * b[0])};
                     },
                     8,
                     true,
                     false};
       }});
  return all;
}

}  // namespace doubles
