// A sum over a batch has the same tree whether one device holds the batch or several do, so the
// gradients of a step have the same bits on 1, 2, 4 and 8 devices.
#include "only_cpu.h"

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

// All elements of all gradients for `batch` images of `side` pixels, sharded over `devices`.
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
  NEEDS_CPU(same_bits);
  auto [batch, side] = GetParam();
  std::vector<float> one = gradients(1, batch, side);
  for (std::int64_t devices : {2, 4, 8}) {
    std::vector<float> several = gradients(devices, batch, side);
    ASSERT_EQ(several.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i)
      ASSERT_EQ(several[i], one[i]) << devices << " devices, element " << i;
  }
}

// The batch and image of the main job; images whose number of pixels is not a power of two; and a
// batch of 3 * 2^6, of which every device holds a multiple of 8.
INSTANTIATE_TEST_SUITE_P(Batches, DeviceCount,
                         ::testing::Values(std::pair(64, 28), std::pair(64, 20),
                                           std::pair(192, 12)));

// Products that sum over rows, such as the gradients of a classifier's weights.
TEST(NarrowProducts, SumsAreTheSameBits) {
  NEEDS_CPU(same_bits);
  ts::set_device_count(8);
  for (auto [in, out] :
       {std::pair(4096, 10), std::pair(784, 16), std::pair(10, 700), std::pair(10, 20000)}) {
    auto [k1, k2] = ts::random::split<2>(ts::random::key(5));
    Array x = ts::random::normal(k1, {512, in}), g = ts::random::normal(k2, {512, out});
    auto product = [&, in = in, out = out](std::int64_t devices) {
      auto f =
          ts::pmap([](Array x, Array g) { return ts::psum(ts::einsum("nk,nm->km", x, g), "i"); },
                   {.out_axes = ts::replicated});
      std::int64_t rows = 512 / devices;
      return f(x.reshape(devices, rows, in), g.reshape(devices, rows, out)).to_vector<float>();
    };
    for (std::int64_t devices : {2, 4, 8})
      EXPECT_EQ(product(devices), product(1)) << in << " x " << out << " on " << devices;
  }
}

// Partial results for each halving would need several times the memory of the result.
TEST(NarrowProducts, SumsWithManyResultsKeepNoPartialOnes) {
  auto f = ts::jit([](Array x, Array g) { return ts::einsum("nk,nm->km", x, g); });
  auto memory =
      f.lower(ts::abstract(ts::f32, {512, 10}), ts::abstract(ts::f32, {512, 40000})).memory();
  EXPECT_LE(memory.temporaries, memory.outputs);
}

// A mean of products over rows in all forms of a reduction: along the leading axis, along several
// axes, and with few and many columns.
TEST(SumsOverRows, AreTheSameBits) {
  NEEDS_CPU(same_bits);
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
