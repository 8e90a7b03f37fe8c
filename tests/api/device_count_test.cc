// Sums over a batch are taken in one tree, whether one device holds the batch or several do: the
// gradients of a step are the same bits on 1, 2, 4 and 8 devices.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace ts = tessera;
namespace nn = tessera::nn;
using ts::Array;

namespace {

struct Network {
  nn::Conv conv1, conv2;
  nn::Linear dense;
};

Array loss(const Network& m, Array x, Array labels) {
  x = ts::max_pool(nn::relu(m.conv1(x)), {2, 2});
  x = ts::max_pool(nn::relu(m.conv2(x)), {2, 2});
  Array logits = m.dense(x.reshape(x.shape(0), -1));
  return ts::mean(nn::softmax_cross_entropy_with_integer_labels(logits, labels));
}

// Every element of every gradient, of `batch` images of `side` pixels divided over `devices`.
std::vector<float> gradients(std::int64_t devices, std::int64_t batch, std::int64_t side) {
  auto [k1, k2, k3, k4, k5] = ts::random::split<5>(ts::random::key(3));
  Network model{nn::conv(k1, 1, 32, {3, 3}), nn::conv(k2, 32, 64, {3, 3}),
                nn::linear(k3, (side / 4) * (side / 4) * 64, 10)};
  Array x = ts::random::normal(k4, {devices, batch / devices, side, side, 1});
  Array labels = ts::random::randint(k5, {devices, batch / devices}, 0, 10);
  auto step = ts::pmap(
      [](Network m, Array x, Array labels) {
        return ts::pmean(ts::grad([&](Network m) { return loss(m, x, labels); })(m), "i");
      },
      {.in_axes = {ts::replicated, 0, 0}, .out_axes = ts::replicated});
  std::vector<float> all;
  for (const Array& g : ts::tree::leaves(step(model, x, labels)))
    for (float v : g.to_vector<float>()) all.push_back(v);
  return all;
}

class DeviceCount : public ::testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {
 protected:
  void SetUp() override { ts::set_device_count(8); }
};

TEST_P(DeviceCount, GradientsAreTheSameBits) {
  auto [batch, side] = GetParam();
  std::vector<float> one = gradients(1, batch, side);
  for (std::int64_t devices : {2, 4, 8}) {
    std::vector<float> several = gradients(devices, batch, side);
    ASSERT_EQ(several.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i)
      ASSERT_EQ(several[i], one[i]) << devices << " devices, element " << i;
  }
}

// The main job's batch and image; images whose pixels are no power of two; a batch of 3 * 2^5.
INSTANTIATE_TEST_SUITE_P(Batches, DeviceCount,
                         ::testing::Values(std::pair(64, 28), std::pair(64, 20),
                                           std::pair(96, 12)));

struct Perceptron {
  std::vector<nn::Linear> layers;
};

// Dense layers wide and narrow: a device holds at least the 64 rows of a leaf.
TEST(DenseLayers, GradientsAreTheSameBits) {
  ts::set_device_count(8);
  auto keys = ts::random::split<4>(ts::random::key(5));
  Perceptron model{
      {nn::linear(keys[0], 300, 256), nn::linear(keys[1], 256, 48), nn::linear(keys[2], 48, 10)}};
  Array x = ts::random::normal(keys[3], {512, 300});
  auto gradients = [&](std::int64_t devices) {
    auto step = ts::pmap(
        [](Perceptron m, Array x) {
          auto loss = [&](Perceptron m) {
            Array y = x;
            for (const nn::Linear& layer : m.layers) y = ts::tanh(layer(y));
            return ts::mean(ts::square(y));
          };
          return ts::pmean(ts::grad(loss)(m), "i");
        },
        {.in_axes = {ts::replicated, 0}, .out_axes = ts::replicated});
    std::vector<float> all;
    for (const Array& g : ts::tree::leaves(step(model, x.reshape(devices, 512 / devices, 300))))
      for (float v : g.to_vector<float>()) all.push_back(v);
    return all;
  };
  std::vector<float> one = gradients(1);
  for (std::int64_t devices : {2, 4, 8}) EXPECT_EQ(gradients(devices), one) << devices;
}

// A mean of products over rows in all the forms that a reduction takes: along the leading axis,
// along several, and of few and many columns.
TEST(SumsOverRows, AreTheSameBits) {
  ts::set_device_count(8);
  for (ts::Shape shape : {ts::Shape{4096, 3}, ts::Shape{512, 7, 33}, ts::Shape{64, 2000}}) {
    Array x = ts::random::normal(ts::random::key(1), shape);
    std::vector<std::int64_t> axes;
    for (int d = 0; d + 1 < shape.rank(); ++d) axes.push_back(d);
    auto sums = [&](std::int64_t devices) {
      ts::Shape parted = shape;
      parted[0] /= devices;
      parted.insert(parted.begin(), devices);
      auto f = ts::pmap([&](Array x) { return ts::psum(ts::sum(ts::exp(x), axes), "i"); },
                        {.out_axes = ts::replicated});
      return f(x.reshape(parted)).to_vector<float>();
    };
    for (std::int64_t devices : {2, 4, 8}) EXPECT_EQ(sums(devices), sums(1)) << devices;
  }
}

}  // namespace
