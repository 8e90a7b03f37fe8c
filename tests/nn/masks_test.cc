// Functions that select or mask do not multiply: an infinity or NaN that is not selected affects
// neither values nor derivatives.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace ts = tessera;
using ts::Array;

namespace {

constexpr float kInf = INFINITY;

std::vector<float> grad_of(const std::function<Array(Array)>& f, const Array& x) {
  return ts::grad([&](Array v) { return ts::sum(f(v)); })(x).to_vector<float>();
}

void expect_all_near(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::isinf(expected[i]))
      EXPECT_EQ(got[i], expected[i]) << i;
    else
      EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

}  // namespace

TEST(Masks, CrossEntropyOfMaskedLogits) {
  const Array logits = ts::array({{-kInf, 1.0f, 2.0f}, {0.0f, -kInf, -kInf}});
  const Array labels = ts::array({2, 0});
  auto integers = [&](Array x) {
    return ts::nn::softmax_cross_entropy_with_integer_labels(x, labels);
  };
  auto probabilities = [&](Array x) {
    return ts::nn::softmax_cross_entropy(x, ts::one_hot(labels, 3));
  };
  const float p = 1 / (1 + std::exp(1.0f));  // of the class other than the label
  for (const std::function<Array(Array)>& f :
       {std::function<Array(Array)>(integers), std::function<Array(Array)>(probabilities)}) {
    expect_all_near(f(logits).to_vector<float>(), {-std::log(1 - p), 0});
    expect_all_near(grad_of(f, logits), {0, p, -p, 0, 0, 0});
  }
  // If the label itself is masked, it is infinitely unlikely.
  EXPECT_EQ(
      ts::nn::softmax_cross_entropy_with_integer_labels(logits, ts::array({0, 0}))[0].item<float>(),
      kInf);
}

TEST(Masks, BinaryCrossEntropyOfInfiniteLogits) {
  const Array logits = ts::array({kInf, -kInf, kInf, -kInf}),
              labels = ts::array({1.0, 0.0, 0.0, 1.0});
  auto f = [&](Array x) { return ts::nn::sigmoid_binary_cross_entropy(x, labels); };
  expect_all_near(f(logits).to_vector<float>(), {0, 0, kInf, kInf});
  expect_all_near(grad_of(f, logits), {0, 0, 1, -1});
}

TEST(Masks, MeanOfMaskedValues) {
  const Array mask = ts::array({1.0, 0.0, 0.0, 1.0});
  const Array values = ts::array({2.0f, kInf, static_cast<float>(NAN), 4.0f});
  auto f = [&](Array x) { return ts::nn::masked_mean(x, mask); };
  EXPECT_EQ(f(values).item<float>(), 3);
  expect_all_near(grad_of(f, values), {0.5, 0, 0, 0.5});
  // The derivative behind the mask is infinite.
  auto roots = [&](Array x) { return ts::nn::masked_mean(ts::sqrt(x), mask); };
  const std::vector<float> g = grad_of(roots, ts::array({4.0, 1.0, 9.0, 1.0}));
  expect_all_near(g, {0.125, 0, 0, 0.25});
}

TEST(Masks, TheOperandThatIsNotChosenGetsNoDerivative) {
  // The square root's derivative at 0 is infinite.
  auto above = [](Array x) { return ts::sqrt(ts::maximum(x, 0)); };
  expect_all_near(grad_of(above, ts::array({-1.0, 4.0})), {0, 0.25});
  auto clipped = [](Array x) { return ts::sqrt(ts::clip(x, 0, 9)); };
  expect_all_near(grad_of(clipped, ts::array({-1.0, 4.0, 16.0})), {0, 0.25, 0});
  const Array tangent = ts::array({kInf, 1.0f});
  auto [value, t] = ts::jvp([](Array x) { return ts::maximum(x, 0); },
                            std::tuple(ts::array({-1.0, 2.0})), std::tuple(tangent));
  expect_all_near(t.to_vector<float>(), {0, 1});
}

TEST(Masks, GatesOfInfinities) {
  const Array x = ts::array({-kInf, -1e10f, 1e10f, kInf});
  for (auto f : {std::function<Array(Array)>([](Array v) { return ts::nn::gelu(v); }),
                 std::function<Array(Array)>([](Array v) { return ts::nn::gelu(v, false); }),
                 std::function<Array(Array)>([](Array v) { return ts::nn::silu(v); })}) {
    const std::vector<float> y = f(x).to_vector<float>();
    expect_all_near({y[0], y[1], y[3]}, {0, 0, kInf});
    EXPECT_EQ(y[2], 1e10f);
    expect_all_near(grad_of(f, x), {0, 0, 1, 1});
  }
}

TEST(Masks, SoftmaxOfNoClassesIsEmpty) {
  for (ts::Shape shape : {ts::Shape{2, 0}, ts::Shape{0}}) {
    EXPECT_EQ(ts::nn::softmax(ts::zeros(shape)).shape(), shape);
    EXPECT_EQ(ts::nn::log_softmax(ts::zeros(shape)).shape(), shape);
    const Array g = ts::grad([](Array x) { return ts::sum(ts::nn::softmax(x)); })(ts::zeros(shape));
    EXPECT_EQ(g.shape(), shape);
  }
}
