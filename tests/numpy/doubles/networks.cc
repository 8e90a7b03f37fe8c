// Normalisations, attention, dropout and recurrent cells.
#include "numpy/doubles/cases.h"

#include <algorithm>

namespace doubles {

namespace {

namespace nn = ts::nn;

// x (2, 3, 4) in layers with scales and biases (4,); the argument says which elements are
// normalised together.
Row normalisation(const std::string& name,
                  const std::function<Array(Array, Array, Array, double)>& f,
                  const std::function<std::size_t(std::size_t, std::size_t, std::size_t)>& group,
                  bool centered = true) {
  return {name, [=](Dice& dice) {
            const double epsilon = draw_double(dice, 0.05, 0.2);
            return Case{name + " of x with y * x + z, epsilon " + text(epsilon),
                        {draw_reals(dice, {2, 3, 4}, -2, 2), draw_reals(dice, {4}, 0.5, 2),
                         draw_reals(dice, {4}, -1, 1)},
                        [=](const Arrays& in) { return f(in[0], in[1], in[2], epsilon); },
                        [=](const Operands& o) {
                          std::vector<std::vector<std::size_t>> groups(24);
                          for (std::size_t i = 0; i < 2; ++i)
                            for (std::size_t j = 0; j < 3; ++j)
                              for (std::size_t k = 0; k < 4; ++k)
                                groups[group(i, j, k)].push_back((i * 3 + j) * 4 + k);
                          Longs out = o[0].at;
                          for (const auto& g : groups)
                            if (!g.empty()) normalise(out, g, epsilon, centered);
                          for (std::size_t i = 0; i < out.size(); ++i)
                            out[i] = out[i] * o[1][i % 4] + (centered ? o[2][i % 4] : 0);
                          return out;
                        },
                        8};
          }};
}

Long dot(const Reals& m, std::size_t column, const Longs& x) {
  Long s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += x[i] * m(i, column);
  return s;
}
// Two steps of a cell with 2 inputs and 2 features: x (2, 2), weights (2, 2 gates) for the input
// and for the state, and a bias for the gates.
using CellOracle = std::function<void(const std::function<Long(std::size_t, bool)>& gate,
                                      const Longs& bias, Longs& h, Longs& c)>;
Row cell(const std::string& name, std::int64_t gates,
         const std::function<Array(Array, Array, Array, Array)>& run, const CellOracle& step) {
  return {name, [=](Dice& dice) {
            return Case{
                name + " of x with weights y and z and the bias u, two steps",
                {draw_reals(dice, {2, 2}, -2, 2), draw_reals(dice, {2, 2 * gates}, -1, 1),
                 draw_reals(dice, {2, 2 * gates}, -1, 1), draw_reals(dice, {2 * gates}, -1, 1)},
                [=](const Arrays& in) { return run(in[0], in[1], in[2], in[3]); },
                [=](const Operands& o) {
                  Longs h(2, 0), c(2, 0), out;
                  for (std::size_t t = 0; t < 2; ++t) {
                    const Longs x{o[0](t, 0), o[0](t, 1)}, before = h;
                    step(
                        [&](std::size_t g, bool of_state) {
                          return of_state ? dot(o[2], g, before) : dot(o[1], g, x);
                        },
                        o[3].at, h, c);
                    for (Long v : h) out.push_back(v);
                  }
                  return out;
                },
                4};
          }};
}

}  // namespace

std::vector<Row> network_rows() {
  const auto rows = [](std::size_t i, std::size_t j, std::size_t) { return i * 3 + j; };
  const auto channels = [](std::size_t, std::size_t, std::size_t k) { return k; };
  std::vector<Row> all{
      normalisation(
          "nn::layer_norm",
          [](const Array& x, const Array& s, const Array& b, double e) {
            return nn::LayerNorm{s, b, e}(x);
          },
          rows),
      normalisation(
          "nn::rms_norm",
          [](const Array& x, const Array& s, const Array&, double e) {
            return nn::RMSNorm{s, e}(x);
          },
          rows, false),
      normalisation(
          "nn::group_norm",
          [](const Array& x, const Array& s, const Array& b, double e) {
            return nn::GroupNorm{s, b, 2, e}(x);
          },
          [](std::size_t i, std::size_t, std::size_t k) { return i * 2 + k / 2; }),
      normalisation(
          "nn::instance_norm",
          [](const Array& x, const Array& s, const Array& b, double e) {
            return nn::InstanceNorm{s, b, e}(x);
          },
          [](std::size_t i, std::size_t, std::size_t k) { return i * 4 + k; }),
      normalisation(
          "nn::batch_norm",
          [](const Array& x, const Array& s, const Array& b, double e) {
            const Array zeros = ts::zeros({4}, ts::f64);
            return nn::BatchNorm{s, b, zeros, zeros + 1, 0.9, e, ""}.train(x).first;
          },
          channels),
  };
  all.push_back({"nn::batch_norm", [](Dice& dice) {
                   const double momentum = draw_double(dice, 0.1, 0.9),
                                epsilon = draw_double(dice, 0.05, 0.2);
                   return Case{"the running statistics of nn::BatchNorm, momentum " +
                                   text(momentum) + ", epsilon " + text(epsilon),
                               {draw_reals(dice, {3, 1}, -2, 2), number(draw_double(dice, -1, 1))},
                               [=](const Arrays& in) {
                                 const Array one = ts::ones({1}, ts::f64);
                                 const nn::BatchNorm layer{one,      one,     one * 0.3, one * 0.7,
                                                           momentum, epsilon, ""};
                                 return layer.train(in[0]).second(ts::reshape(in[1] * one, {1, 1}));
                               },
                               [=](const Operands& o) {
                                 const Longs& x = o[0].at;
                                 const Long m = mean_of(x), keep = momentum;
                                 Long v = 0;
                                 for (Long e : x) v += (e - m) * (e - m) / 3;
                                 const Long mean = Long(0.3) * keep + m * (1 - keep),
                                            var = Long(0.7) * keep + v * (1 - keep);
                                 return Longs{(o[1][0] - mean) / std::sqrt(var + epsilon) + 1};
                               },
                               // No gradients flow to the statistics.
                               8,
                               false};
                 }});
  all.push_back({"nn::weight_norm", [](Dice& dice) {
                   const double epsilon = draw_double(dice, 0.05, 0.2);
                   return Case{"nn::WeightNorm{y, " + text(epsilon) + "}(x)",
                               {draw_reals(dice, {3, 2}, -2, 2), draw_reals(dice, {2}, 0.5, 2)},
                               [=](const Arrays& in) {
                                 return nn::WeightNorm{in[1], epsilon}(in[0]);
                               },
                               [=](const Operands& o) {
                                 Longs out;
                                 for (std::size_t i = 0; i < 3; ++i)
                                   for (std::size_t j = 0; j < 2; ++j) {
                                     Long s = epsilon;
                                     for (std::size_t k = 0; k < 3; ++k)
                                       s += o[0](k, j) * o[0](k, j);
                                     out.push_back(o[0](i, j) / std::sqrt(s) * o[1][j]);
                                   }
                                 return out;
                               },
                               4};
                 }});
  all.push_back(
      {"nn::spectral_norm", [](Dice& dice) {
         const double epsilon = draw_double(dice, 0.05, 0.2);
         return Case{"nn::SpectralNorm{y, epsilon " + text(epsilon) + "}.train(x)",
                     {draw_reals(dice, {2, 2}, 0.3, 2), draw_reals(dice, {1, 2}, 0.3, 1)},
                     [=](const Arrays& in) {
                       const nn::SpectralNorm layer{in[1], ts::ones({}, ts::f64), 1, epsilon};
                       return layer.train(in[0]).first;
                     },
                     [=](const Operands& o) {
                       const Reals& w = o[0];
                       const auto unit = [&](Longs x) {
                         const Long n = std::sqrt(x[0] * x[0] + x[1] * x[1] + epsilon);
                         return Longs{x[0] / n, x[1] / n};
                       };
                       const Longs u = o[1].at;
                       const Longs right =
                           unit({u[0] * w(0, 0) + u[1] * w(0, 1), u[0] * w(1, 0) + u[1] * w(1, 1)});
                       const Longs left = unit({right[0] * w(0, 0) + right[1] * w(1, 0),
                                                right[0] * w(0, 1) + right[1] * w(1, 1)});
                       Long sigma = 0;
                       for (std::size_t i = 0; i < 2; ++i)
                         for (std::size_t j = 0; j < 2; ++j) sigma += right[i] * w(i, j) * left[j];
                       return each(w, [&](Long v) { return v / sigma; });
                     },
                     // The vectors of the power method have no gradients.
                     4,
                     false,
                     false};
       }});
  all.push_back({"nn::dot_product_attention", [](Dice& dice) {
                   const bool given = dice.toss();
                   const double scale = given ? draw_double(dice, 0.2, 2) : 0;
                   return Case{
                       "nn::dot_product_attention(x, y, z" +
                           (given ? ", {.scale = " + text(scale) + "})" : std::string(")")),
                       {draw_reals(dice, {2, 1, 3}, -2, 2), draw_reals(dice, {2, 1, 3}, -2, 2),
                        draw_reals(dice, {2, 1, 3}, -2, 2)},
                       [=](const Arrays& in) {
                         nn::AttentionOptions o;
                         if (given) o.scale = scale;
                         return nn::dot_product_attention(in[0], in[1], in[2], o);
                       },
                       [=](const Operands& o) {
                         const Long by = given ? Long(scale) : 1 / std::sqrt(3.0L);
                         Longs out;
                         for (std::size_t i = 0; i < 2; ++i) {
                           Longs logits(2, 0);
                           for (std::size_t j = 0; j < 2; ++j)
                             for (std::size_t k = 0; k < 3; ++k)
                               logits[j] += o[0][i * 3 + k] * o[1][j * 3 + k] * by;
                           const Longs p = softmax(logits);
                           for (std::size_t k = 0; k < 3; ++k)
                             out.push_back(p[0] * o[2][k] + p[1] * o[2][3 + k]);
                         }
                         return out;
                       },
                       8,
                       true,
                       false};
                 }});
  all.push_back({"nn::rotary_embedding", [](Dice& dice) {
                   const double base = draw_double(dice, 2, 9000);
                   return Case{
                       "nn::rotary_embedding(x, {}, " + text(base) + ")",
                       {draw_reals(dice, {3, 1, 4}, -2, 2)},
                       [=](const Arrays& in) { return nn::rotary_embedding(in[0], {}, base); },
                       [=](const Operands& o) {
                         Longs out = o[0].at;
                         for (std::size_t t = 0; t < 3; ++t)
                           for (std::size_t i = 0; i < 2; ++i) {
                             const Long angle =
                                 static_cast<Long>(t) * (i ? 1 / std::sqrt(Long(base)) : 1);
                             const Long a = o[0][t * 4 + i], b = o[0][t * 4 + i + 2];
                             out[t * 4 + i] = a * std::cos(angle) - b * std::sin(angle);
                             out[t * 4 + i + 2] = b * std::cos(angle) + a * std::sin(angle);
                           }
                         return out;
                       },
                       4};
                 }});
  for (const bool broadcast : {false, true})
    all.push_back({broadcast ? "nn::BroadcastDropout" : "nn::Dropout", [=](Dice& dice) {
                     const double rate = draw_double(dice, 0.2, 0.6);
                     const Array key = ts::random::key(static_cast<std::uint64_t>(dice.below(100)));
                     const auto kept =
                         ts::random::bernoulli(key, 1 - rate, Shape{6}).to_vector<bool>();
                     return Case{"nn::Dropout{" + text(rate) + "}(x, key)",
                                 {draw_reals(dice, {6}, -3, 3)},
                                 [=](const Arrays& in) {
                                   return broadcast ? nn::BroadcastDropout{rate, {}}(in[0], key)
                                                    : nn::Dropout{rate}(in[0], key);
                                 },
                                 [=](const Operands& o) {
                                   Longs out;
                                   for (std::size_t i = 0; i < 6; ++i)
                                     out.push_back(kept[i] ? o[0][i] / (1 - Long(rate)) : 0);
                                   return out;
                                 },
                                 // 1 - rate is rounded once.
                                 8};
                   }});
  all.push_back({"nn::linear", [](Dice& dice) {
                   return Case{"nn::Linear{y, z}(x)",
                               {draw_reals(dice, {2}, -2, 2), draw_reals(dice, {2, 3}, -2, 2),
                                draw_reals(dice, {3}, -2, 2)},
                               [](const Arrays& in) {
                                 return nn::Linear{in[1], in[2], {}}(in[0]);
                               },
                               [](const Operands& o) {
                                 Longs out;
                                 for (std::size_t j = 0; j < 3; ++j)
                                   out.push_back(dot(o[1], j, o[0].at) + o[2][j]);
                                 return out;
                               },
                               12};
                 }});
  // The bias belongs to the input's part; for a GRU the state's third gate has the bias 0.2.
  const auto two_steps = [](const auto& layer, const Array& x, const auto& start) {
    const auto [first, a] = layer(start, x[0]);
    return ts::stack({a, layer(first, x[1]).second});
  };
  all.push_back(cell(
      "nn::simple_cell", 1,
      [=](const Array& x, const Array& w, const Array& u, const Array& b) {
        return two_steps(nn::SimpleCell{{w, b, {}}, {u, {}, {}}, 2}, x, ts::zeros({2}, ts::f64));
      },
      [](const auto& gate, const Longs& bias, Longs& h, Longs&) {
        for (std::size_t i = 0; i < 2; ++i)
          h[i] = std::tanh(gate(i, false) + gate(i, true) + bias[i]);
      }));
  all.push_back(cell(
      "nn::gru_cell", 3,
      [=](const Array& x, const Array& w, const Array& u, const Array& b) {
        const nn::GRUCell layer{{w, b, {}}, {u, {}, {}}, ts::full({2}, 0.2, ts::f64), 2};
        return two_steps(layer, x, ts::zeros({2}, ts::f64));
      },
      [](const auto& gate, const Longs& bias, Longs& h, Longs&) {
        const Longs old = h;
        for (std::size_t i = 0; i < 2; ++i) {
          const auto sum = [&](std::size_t g) { return gate(g * 2 + i, false) + bias[g * 2 + i]; };
          const Long r = sigmoid(sum(0) + gate(i, true)), z = sigmoid(sum(1) + gate(2 + i, true));
          const Long n = std::tanh(sum(2) + r * (gate(4 + i, true) + Long(0.2)));
          h[i] = (1 - z) * n + z * old[i];
        }
      }));
  all.push_back(cell(
      "nn::lstm_cell", 4,
      [=](const Array& x, const Array& w, const Array& u, const Array& b) {
        const Array none = ts::zeros({2}, ts::f64);
        return two_steps(nn::LSTMCell{{w, {}, {}}, {u, b, {}}, 2}, x, nn::LSTMCarry{none, none});
      },
      [](const auto& gate, const Longs& bias, Longs& h, Longs& c) {
        for (std::size_t i = 0; i < 2; ++i) {
          const auto sum = [&](std::size_t g) {
            return gate(g * 2 + i, false) + gate(g * 2 + i, true) + bias[g * 2 + i];
          };
          c[i] = sigmoid(sum(1)) * c[i] + sigmoid(sum(0)) * std::tanh(sum(2));
          h[i] = sigmoid(sum(3)) * std::tanh(c[i]);
        }
      }));
  return all;
}

}  // namespace doubles
