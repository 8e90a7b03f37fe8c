// Layers, activations and losses agree with computations by hand in double.
#include <tessera/collectives.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/nn.h>
#include <tessera/nn/normalization.h>
#include <tessera/pmap.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include "message.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ts = tessera;
namespace nn = tessera::nn;
using ts::Array;
using ts::Shape;

namespace {

using Floats = std::vector<float>;
Floats f32s(const Array& x) { return x.to_vector<float>(); }
// The tolerance is a few rounding errors of float32.
void expect_near(const Array& x, const std::vector<double>& expected, double ulps = 8) {
  Floats v = f32s(x);
  ASSERT_EQ(v.size(), expected.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    EXPECT_NEAR(v[i], expected[i], ulps * 0x1p-24 * std::max(1.0, std::fabs(expected[i])))
        << "element " << i;
}
using test::message;

}  // namespace

TEST(Layers, Linear) {
  nn::Linear layer{ts::array({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), ts::array({0.5, -1.0}), {}};
  EXPECT_EQ(f32s(layer(ts::array({{1.0, 0.0, 2.0}, {0.0, 1.0, 0.0}}))),
            (Floats{11.5f, 13, 3.5f, 3}));
  layer.bias = Array();
  EXPECT_EQ(f32s(layer(ts::array({1.0, 0.0, 2.0}))), (Floats{11, 14}));
  nn::Linear made = nn::linear(ts::random::key(0), 3, 5);
  EXPECT_EQ(made.weight.shape(), (Shape{3, 5}));
  EXPECT_EQ(f32s(made.bias), Floats(5, 0.0f));
  EXPECT_TRUE(nn::linear(ts::random::key(0), 3, 5, {.bias = false}).bias.is_empty());
}

// The squares of 1e30 are out of the range of float32; the results of layers on such numbers are
// not.
TEST(Layers, NormalisationsOfVeryLargeNumbers) {
  const Array x(Floats{1, -1, 3, -3, 2, 0, -2, 0});
  const auto same = [](const auto& layer, const Array& v) {
    const Array usual = layer(v);
    for (const double size : {1e10, 1e20, 1e30, 5e37}) {
      const Array got = layer(v * size);
      // The epsilon is too small to matter.
      EXPECT_TRUE(ts::allclose(got, usual, 1e-4, 1e-6).item<bool>()) << size << got << usual;
    }
  };
  same(nn::layer_norm(4), x.reshape(2, 4));
  same(nn::rms_norm(4), x.reshape(2, 4));
  same(nn::group_norm(4, 2), x.reshape(1, 2, 4));
  same(nn::instance_norm(2), x.reshape(1, 2, 2, 2));
  // The derivative is smaller by the same factor.
  const nn::LayerNorm layer = nn::layer_norm(4, 1e-12);
  const Array w = ts::array({0.3, -0.2, 0.5, 1.0});
  const auto slope = ts::grad([&](Array v) { return ts::sum(layer(v) * w); });
  const Array row = ts::array({1.0, -1.0, 3.0, -4.0}), usual = slope(row), far = slope(row * 1e30);
  EXPECT_TRUE(ts::allclose(far * 1e30, usual, 1e-5, 1e-6).item<bool>()) << far << usual;
  // All equal numbers are at their mean.
  EXPECT_EQ(f32s(layer(ts::full({4}, 0x1p100))), Floats(4, 0));
}

TEST(Losses, LogSoftmaxOfHalvesSumsInFloat32) {
  // 4096 classes have equal logits. The derivative of the first log probability is 1 - 1 / 4096 at
  // its logit and -1 / 4096 at the others; of the sum of all it is 0, which a 16-bit sum would
  // miss.
  for (const ts::DType d : {ts::f16, ts::bf16}) {
    std::vector<double> cotangent(4096);
    for (std::size_t i = 0; i < cotangent.size(); ++i) cotangent[i] = i % 2 ? 1.0 : 0.5;
    const Array w(cotangent), zero = ts::zeros({4096}, d);
    const auto loss = [&](Array v) {
      return ts::sum(nn::log_softmax(v).astype(ts::f32) * w.astype(ts::f32));
    };
    const Array x = ts::arange(4096).astype(ts::f32) / 1024;
    const Array got = ts::grad(loss)(x.astype(d)).astype(ts::f32);
    const Array want = ts::grad(loss)(x.astype(d).astype(ts::f32));
    // The results are numbers up to 1, rounded once.
    const double unit = d == ts::f16 ? 0x1p-11 : 0x1p-8;
    EXPECT_TRUE(ts::all(ts::abs(got - want) <= unit * ts::abs(want) + 1e-7).item<bool>());
    EXPECT_EQ(nn::log_softmax(zero).dtype(), d);
  }
}

TEST(Layers, ComputeDtype) {
  nn::Linear layer = nn::linear(ts::random::key(0), 4, 2, {.dtype = ts::bf16});
  EXPECT_EQ(layer.weight.dtype(), ts::f32);
  EXPECT_EQ(layer(ts::ones({3, 4})).dtype(), ts::bf16);
}

TEST(Layers, Conv) {
  // One 2x2 kernel of ones over a 3x3 image, also with strides and groups.
  nn::Conv layer{ts::ones({2, 2, 1, 1}), ts::array({10.0}), {1, 1}, {}, "VALID", 1, {}};
  Array x = ts::arange(9.0f).reshape(1, 3, 3, 1);
  EXPECT_EQ(f32s(layer(x)), (Floats{18, 22, 30, 34}));
  layer.padding = "SAME";
  EXPECT_EQ(f32s(layer(x)), (Floats{18, 22, 17, 30, 34, 23, 23, 25, 18}));
  layer.strides = {2, 2};
  EXPECT_EQ(f32s(layer(x)), (Floats{18, 17, 23, 18}));
  nn::Conv made = nn::conv(ts::random::key(0), 4, 8, {3, 3}, {.groups = 2});
  EXPECT_EQ(made.weight.shape(), (Shape{3, 3, 2, 8}));
  EXPECT_EQ(made(ts::ones({2, 5, 5, 4})).shape(), (Shape{2, 5, 5, 8}));
}

TEST(Layers, EmbeddingPicksRows) {
  nn::Embedding e{ts::array({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}})};
  EXPECT_EQ(f32s(e(ts::array({2, 0}))), (Floats{5, 6, 1, 2}));
  EXPECT_EQ(nn::embedding(ts::random::key(0), 7, 3).weight.shape(), (Shape{7, 3}));
}

TEST(Layers, LayerNorm) {
  nn::LayerNorm layer{ts::array({1.0, 2.0, 1.0, 1.0}), ts::array({0.0, 0.0, 3.0, 0.0}), 0.0};
  // The mean is 2.5, the variance 1.25.
  double s = 1 / std::sqrt(1.25);
  expect_near(layer(ts::array({{1.0, 2.0, 3.0, 4.0}})),
              {-1.5 * s, 2 * -0.5 * s, 0.5 * s + 3, 1.5 * s});
  nn::LayerNorm plain = nn::layer_norm(4);
  EXPECT_EQ(f32s(plain(ts::full({2, 4}, 7.0))), Floats(8, 0.0f));
}

TEST(BatchNorm, TrainingNormalisesAndRemembers) {
  nn::BatchNorm layer = nn::batch_norm(2, {.momentum = 0.75, .epsilon = 0});
  Array x = ts::array({{1.0, 10.0}, {3.0, 10.0}, {5.0, 40.0}, {7.0, 40.0}});
  auto [y, next] = layer.train(x);
  double s = 1 / std::sqrt(5.0);
  expect_near(y, {-3 * s, -1, -s, -1, s, 1, 3 * s, 1});
  expect_near(next.mean, {0.25 * 4, 0.25 * 25});
  expect_near(next.var, {0.75 + 0.25 * 5, 0.75 + 0.25 * 225});
  // Evaluation uses the running statistics, and the layer itself is unchanged.
  EXPECT_EQ(f32s(layer.mean), (Floats{0, 0}));
  expect_near(next(ts::array({{1.0, 6.25}})), {0, 0});
  expect_near(layer(x[0]), {1, 10});
}

TEST(BatchNorm, DevicesShareTheirStatistics) {
  ts::set_device_count(4);
  Array x = ts::random::normal(ts::random::key(5), {4, 8, 3}) * 2 + 1;
  nn::BatchNorm whole = nn::batch_norm(3), layer = nn::batch_norm(3, {.axis_name = "i"});
  auto [y, next] =
      ts::pmap([](nn::BatchNorm l, Array batch) { return l.train(batch); },
               {.axis_name = "i", .in_axes = {ts::replicated, 0}, .out_axes = {0, ts::replicated}})(
          layer, x);
  auto [y1, next1] = whole.train(x.reshape(32, 3));
  // E[x^2] - E[x]^2, summed in either order.
  EXPECT_TRUE(bool(ts::allclose(y.reshape(32, 3), y1, 1e-5, 1e-5)));
  EXPECT_TRUE(bool(ts::allclose(next.mean, next1.mean, 1e-5, 1e-6)));
  EXPECT_TRUE(bool(ts::allclose(next.var, next1.var, 1e-5, 1e-6)));
}

TEST(BatchNorm, StatisticsHaveNoGradient) {
  nn::BatchNorm layer = nn::batch_norm(2);
  Array x = ts::array({{1.0, 2.0}, {3.0, 5.0}});
  nn::BatchNorm g = ts::grad(
      [](nn::BatchNorm l, Array v) { return ts::sum(ts::square(l.train(v).first)); })(layer, x);
  EXPECT_EQ(f32s(g.mean), (Floats{0, 0}));
  EXPECT_EQ(f32s(g.var), (Floats{0, 0}));
}

TEST(Dropout, DropsAShareAndScalesTheRest) {
  nn::Dropout layer{0.25};
  Array x = ts::ones({100, 100});
  Array y = layer(x, ts::random::key(3));
  Floats v = f32s(y);
  std::int64_t dropped = 0;
  for (float e : v) {
    dropped += e == 0;
    EXPECT_TRUE(e == 0 || e == 1 / 0.75f);
  }
  // The bound is five standard deviations of a binomial distribution.
  EXPECT_NEAR(static_cast<double>(dropped), 2500, 5 * std::sqrt(10000 * 0.25 * 0.75));
  EXPECT_EQ(f32s(layer(x, ts::random::key(3))), v);
  EXPECT_EQ(f32s(layer(x, ts::random::key(3), false)), f32s(x));
  EXPECT_EQ(f32s(nn::Dropout{0.0}(x, ts::random::key(3))), f32s(x));
  EXPECT_EQ(message([&] { nn::Dropout{1.0}(x, ts::random::key(3)); }),
            "Dropout: the rate is 1.0\n  rule: it is at least 0.0 and less than 1.0\n  try: 0.1, "
            "the share of elements that are dropped");
}

TEST(Activations, AgainstTheirFormulas) {
  std::vector<double> at = {-3, -0.5, 0, 0.25, 2};
  Array x = ts::array({-3.0, -0.5, 0.0, 0.25, 2.0});
  auto formula = [&](auto f) {
    std::vector<double> out;
    for (double v : at) out.push_back(f(v));
    return out;
  };
  expect_near(nn::relu(x), formula([](double v) { return std::max(v, 0.0); }), 0);
  expect_near(nn::leaky_relu(x, 0.125), formula([](double v) { return v > 0 ? v : 0.125 * v; }), 0);
  expect_near(nn::silu(x), formula([](double v) { return v / (1 + std::exp(-v)); }));
  expect_near(nn::softplus(x), formula([](double v) { return std::log1p(std::exp(v)); }));
  expect_near(nn::log_sigmoid(x), formula([](double v) { return -std::log1p(std::exp(-v)); }));
  expect_near(nn::elu(x, 0.5), formula([](double v) { return v > 0 ? v : 0.5 * std::expm1(v); }));
  expect_near(nn::gelu(x, false),
              formula([](double v) { return v * 0.5 * (1 + std::erf(v / std::sqrt(2.0))); }));
  expect_near(nn::gelu(x), formula([](double v) {
                return v * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
              }));
  EXPECT_EQ(f32s(ts::grad([](Array v) { return ts::sum(nn::relu(v)); })(x)),
            (Floats{0, 0, 0, 1, 1}));
  EXPECT_EQ(f32s(ts::grad([](Array v) { return ts::sum(nn::leaky_relu(v, 0.125)); })(x)),
            (Floats{0.125f, 0.125f, 1, 1, 1}));
  EXPECT_EQ(ts::grad([](Array v) { return nn::softplus(v); })(0.0f).item<float>(), 0.5f);
  for (auto f : {+[](Array v) { return nn::relu(v); }, +[](Array v) { return nn::leaky_relu(v); },
                 +[](Array v) { return nn::elu(v); }, +[](Array v) { return nn::softplus(v); }})
    EXPECT_TRUE(std::isnan(f(ts::array(NAN)).item<float>()));
}

TEST(Activations, FarFromZero) {
  Array x = ts::array({-1000.0, 1000.0});
  EXPECT_EQ(f32s(nn::log_sigmoid(x)), (Floats{-1000, 0}));
  EXPECT_EQ(f32s(nn::elu(x)), (Floats{-1, 1000}));
  auto slopes = [&](auto f) { return f32s(ts::grad([&](Array v) { return ts::sum(f(v)); })(x)); };
  EXPECT_EQ(slopes([](Array v) { return nn::log_sigmoid(v); }), (Floats{1, 0}));
  EXPECT_EQ(slopes([](Array v) { return nn::elu(v); }), (Floats{0, 1}));
}

TEST(Activations, SoftmaxDoesNotOverflow) {
  Array x = ts::array({{1000.0, 1000.0}, {0.0, -1000.0}});
  EXPECT_EQ(f32s(nn::softmax(x)), (Floats{0.5f, 0.5f, 1, 0}));
  expect_near(nn::log_softmax(x), {-std::log(2.0), -std::log(2.0), 0, -1000});
  expect_near(ts::sum(nn::softmax(ts::array({{1.0, 2.0}, {3.0, 4.0}}), 0), 0), {1, 1});
}

TEST(Losses, CrossEntropies) {
  Array logits = ts::array({{1.0, 2.0, 3.0}, {0.0, 0.0, 0.0}});
  double z = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0));
  std::vector<double> expected = {z - 1, std::log(3.0)};
  expect_near(nn::softmax_cross_entropy_with_integer_labels(logits, ts::array({0, 2})), expected);
  Array outside = nn::softmax_cross_entropy_with_integer_labels(logits, ts::array({-1, 3}));
  EXPECT_EQ(outside.to_vector<float>(), (std::vector<float>{0, 0}));
  expect_near(nn::softmax_cross_entropy(logits, ts::one_hot(ts::array({0, 2}), 3)), expected);
  expect_near(nn::softmax_cross_entropy(logits, ts::full({2, 3}, 1 / 3.0)), {z - 2, std::log(3.0)});
  EXPECT_EQ(nn::accuracy(logits, ts::array({2, 1})).item<float>(), 0.5f);
}

TEST(Losses, OneForEachElement) {
  Array logits = ts::array({-2.0, 0.0, 3.0, 200.0}), labels = ts::array({0.0, 0.25, 1.0, 0.0});
  expect_near(nn::sigmoid_binary_cross_entropy(logits, labels),
              {std::log1p(std::exp(-2.0)), std::log(2.0), std::log1p(std::exp(-3.0)), 200});
  expect_near(nn::sigmoid_binary_cross_entropy(logits(ts::until(2)), ts::array({true, false})),
              {std::log1p(std::exp(2.0)), std::log(2.0)});
  EXPECT_EQ(f32s(nn::huber_loss(ts::array({0.0, 1.0, 2.0, -5.0}), ts::ones({4}), 2.0)),
            (Floats{0.5f, 0, 0.5f, 10}));
  EXPECT_EQ(message<ts::ShapeError>([] {
              nn::huber_loss(ts::zeros({4, 1}), ts::zeros({4}));
            }),
            "huber_loss: predictions of shape (4, 1) and targets of shape (4,)\n  rule: each "
            "element has one of the other, so the shapes are equal\n  try: reshape or "
            "broadcast_to one of them");
  EXPECT_EQ(message<ts::ShapeError>([] { nn::huber_loss(ts::zeros({4}), ts::zeros({4}), -1); }),
            "huber_loss: delta is -1.000000\n  rule: it is the error from which on the loss is "
            "linear, more than 0\n  try: 1.0 is usual");
}

TEST(Losses, MaskedMeanLeavesPaddingOut) {
  Array v = ts::array({1.0, 2.0, 4.0, 100.0});
  EXPECT_EQ(nn::masked_mean(v, ts::array({1.0, 1.0, 0.0, 0.0})).item<float>(), 1.5f);
  EXPECT_EQ(nn::masked_mean(v, ts::zeros({4})).item<float>(), 0.0f);
}

TEST(Losses, SayWhatDoesNotFit) {
  EXPECT_EQ(message<ts::ShapeError>([] {
              nn::softmax_cross_entropy(ts::zeros({4, 3}), ts::zeros({4}));
            }),
            "softmax_cross_entropy: logits of shape (4, 3) and labels of shape (4,)\n  rule: "
            "labels are probabilities, one for each logit\n  try: one_hot(labels, 3), or "
            "softmax_cross_entropy_with_integer_labels");
  EXPECT_EQ(message<ts::ShapeError>([] {
              nn::softmax_cross_entropy_with_integer_labels(ts::zeros({4, 3}), ts::zeros({4}));
            }),
            "softmax_cross_entropy_with_integer_labels: logits of shape (4, 3) and float32 labels "
            "of shape (4,)\n  rule: labels are integers with the shape of the logits but for the "
            "last axis\n  try: convert the labels with astype(ts::i32)");
}

TEST(Initialisers, VarianceIsScaleOverFan) {
  struct Case {
    nn::VarianceScaling init;
    double variance;
  };
  // The fans of (3, 3, 16, 64) are 144 in and 576 out.
  for (const Case& c :
       {Case{nn::lecun_normal(), 1 / 144.0}, Case{nn::he_normal(), 2 / 144.0},
        Case{nn::he_uniform(), 2 / 144.0}, Case{nn::glorot_normal(), 1 / 360.0},
        Case{nn::glorot_uniform(), 1 / 360.0}, Case{{1.0, "out", "normal"}, 1 / 576.0}}) {
    SCOPED_TRACE(c.init.fan + " " + c.init.distribution);
    Array w = c.init(ts::random::key(1), {3, 3, 16, 64});
    double n = 9216;
    // The bound is five standard errors; the fourth moment is at most that of the normal
    // distribution.
    EXPECT_NEAR(ts::mean(w).item<double>(), 0, 5 * std::sqrt(c.variance / n));
    EXPECT_NEAR(ts::var(w).item<double>(), c.variance, 5 * c.variance * std::sqrt(2 / n));
    double bound = c.init.distribution == "uniform" ? std::sqrt(3 * c.variance)
                   : c.init.distribution == "truncated_normal"
                       ? 2 * std::sqrt(c.variance) / 0.8796256610342398
                       : INFINITY;
    EXPECT_LE(ts::max(ts::abs(w)).item<double>(), bound * (1 + 1e-6));
  }
  EXPECT_EQ(message([] {
              nn::VarianceScaling{1.0, "sideways"}(ts::random::key(0), {2, 2});
            }),
            "VarianceScaling: the fan is \"sideways\"\n  rule: it is \"in\", \"out\" or "
            "\"average\"\n  try: \"in\"");
}
