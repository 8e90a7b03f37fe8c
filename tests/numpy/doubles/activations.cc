// Activations.
#include "numpy/doubles/cases.h"

#include <algorithm>

namespace doubles {

namespace {

namespace nn = ts::nn;

using Real = std::function<Long(Long)>;

Row activation(const std::string& name, const std::function<Array(Array, double)>& f,
               const std::function<Long(Long, Long)>& g, double low = 0.2, double high = 2,
               Long terms = 1) {
  return {name, [=](Dice& dice) {
            const double option = draw_double(dice, low, high);
            return Case{name + "(x), the option " + text(option),
                        {draw_reals(dice, draw_shape(dice), -4, 4)},
                        [=](const Arrays& in) { return f(in[0], option); },
                        [=](const Operands& o) {
                          return each(o[0], [&](Long v) { return g(v, Long(option)); });
                        },
                        terms};
          }};
}
Row activation(const std::string& name, Array (*f)(ts::Operand), const Real& g) {
  return {name, [=](Dice& dice) {
            return Case{name + "(x)",
                        {draw_reals(dice, draw_shape(dice), -4, 4)},
                        [=](const Arrays& in) { return f(in[0]); },
                        [=](const Operands& o) { return each(o[0], g); },
                        1};
          }};
}
Long hard_sigmoid(Long x) { return std::min(std::max(x + 3, 0.0L), 6.0L) / 6; }
Long elu(Long x, Long alpha) { return x > 0 ? x : alpha * std::expm1(x); }

}  // namespace

std::vector<Row> activation_rows() {
  const auto of = [](Array (*f)(ts::Operand, double)) {
    return [f](const Array& x, double option) { return f(x, option); };
  };
  std::vector<Row> all{
      activation("nn::leaky_relu", of(nn::leaky_relu),
                 [](Long x, Long a) { return x >= 0 ? x : a * x; }),
      activation("nn::elu", of(nn::elu), elu),
      activation("nn::celu", of(nn::celu),
                 [](Long x, Long a) { return x > 0 ? x : a * std::expm1(x / a); }),
      activation(
          "nn::squareplus", of(nn::squareplus),
          [](Long x, Long b) { return (x + std::sqrt(x * x + b)) / 2; }, 0.2, 2, 4),
      activation(
          "nn::prelu",
          [](const Array& x, double a) { return nn::PReLU{ts::full({}, a, ts::f64)}(x); },
          [](Long x, Long a) { return x >= 0 ? x : a * x; }),
      activation(
          "nn::gelu", [](const Array& x, double) { return nn::gelu(x); },
          [](Long x, Long) {
            return x / 2 * (1 + std::tanh(std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x)));
          },
          0, 1, 4),
      activation(
          "nn::gelu", [](const Array& x, double) { return nn::gelu(x, false); },
          [](Long x, Long) { return x / 2 * std::erfc(-x / std::sqrt(2.0L)); }, 0, 1, 4),
      activation("nn::relu", nn::relu, [](Long x) { return std::max(x, 0.0L); }),
      activation("nn::silu", nn::silu, [](Long x) { return x * sigmoid(x); }),
      activation("nn::swish", nn::swish, [](Long x) { return x * sigmoid(x); }),
      activation("nn::softplus", nn::softplus, softplus),
      activation("nn::log_sigmoid", nn::log_sigmoid, [](Long x) { return -softplus(-x); }),
      activation("nn::selu", nn::selu,
                 [](Long x) {
                   return 1.0507009873554804934193349852946L *
                          elu(x, 1.6732632423543772848170429916717L);
                 }),
      activation("nn::relu6", nn::relu6, [](Long x) { return std::min(std::max(x, 0.0L), 6.0L); }),
      activation("nn::hard_tanh", nn::hard_tanh,
                 [](Long x) { return std::min(std::max(x, -1.0L), 1.0L); }),
      activation("nn::hard_sigmoid", nn::hard_sigmoid, hard_sigmoid),
      activation("nn::hard_silu", nn::hard_silu, [](Long x) { return x * hard_sigmoid(x); }),
      activation("nn::hard_swish", nn::hard_swish, [](Long x) { return x * hard_sigmoid(x); }),
      activation("nn::mish", nn::mish, [](Long x) { return x * std::tanh(softplus(x)); }),
      activation("nn::soft_sign", nn::soft_sign, [](Long x) { return x / (1 + std::fabs(x)); }),
      activation("nn::sparse_plus", nn::sparse_plus,
                 [](Long x) { return x <= -1  ? 0
                                     : x >= 1 ? x
                                              : (x + 1) * (x + 1) / 4; }),
      activation("nn::sparse_sigmoid", nn::sparse_sigmoid,
                 [](Long x) { return x <= -1  ? 0
                                     : x >= 1 ? 1
                                              : (x + 1) / 2; }),
  };
  const auto by_row = [&](const std::string& name, const std::function<Array(Array)>& f,
                          const std::function<Longs(const Longs&)>& g) {
    all.push_back({name, [=](Dice& dice) {
                     return Case{name + "(x)",
                                 {draw_reals(dice, {2, 4}, -3, 3)},
                                 [=](const Arrays& in) { return f(in[0]); },
                                 [=](const Operands& o) { return each_row(o[0], g); },
                                 4};
                   }});
  };
  by_row(
      "nn::softmax", [](const Array& x) { return nn::softmax(x); }, softmax);
  by_row(
      "nn::log_softmax", [](const Array& x) { return nn::log_softmax(x); }, log_softmax);
  by_row(
      "nn::glu", [](const Array& x) { return nn::glu(x); },
      [](const Longs& x) {
        return Longs{x[0] * sigmoid(x[2]), x[1] * sigmoid(x[3])};
      });
  by_row(
      "nn::standardize", [](const Array& x) { return nn::standardize(x, {.epsilon = 0.07}); },
      [](const Longs& x) {
        Longs out = x;
        normalise(out, {0, 1, 2, 3}, Long(0.07));
        return out;
      });
  by_row(
      "nn::standardize", [](const Array& x) { return nn::standardize(x); },
      [](const Longs& x) {
        Longs out = x;
        normalise(out, {0, 1, 2, 3}, Long(1e-5));
        return out;
      });
  return all;
}

}  // namespace doubles
