// The cells of examples/02_pmap_intro agree with JAX (pmap_intro.py).
#include "02_pmap_intro/cells.h"

#include "examples/golden.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using ts::Array;

namespace {

// Rounding errors do not grow over these 200 steps: losses below 1 in float32 stay within a few
// units in the last place, 2^-23, of JAX's in float64. JAX's own float32 losses differ by 2.5e-6,
// because 1 - b2^t is rounded to float32 there, and its predictions by 2e-6.
constexpr double kLosses = 4 * 0x1p-23, kLossesOfJax = 3e-6, kPredictions = 1e-5;

class PmapIntro : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(4); }
  const example_test::Golden golden{"pmap_intro"};
  const Array x = ts::arange(8.0).reshape(4, 2);
};

TEST_F(PmapIntro, LeadingAxis) {
  golden.equal(pmap_intro::squares(x), "squares");
  golden.equal(pmap_intro::sum_over_default_axis(x), "sum_over_default_axis");
}

TEST_F(PmapIntro, InAxes) {
  golden.equal(pmap_intro::shared_parameters({ts::array({1.0, 0.5, -1.0}), 10.0f},
                                             ts::arange(12.0).reshape(4, 3)),
               "shared_parameters");
  golden.equal(pmap_intro::mixed_axes(x, ts::array({1.0, -1.0}), ts::arange(4.0) * 100),
               "mixed_axes");
  auto c = pmap_intro::combine(x);
  golden.equal(c.own, "own");
  golden.equal(c.psum, "psum");
  golden.equal(c.pmean, "pmean");
  golden.equal(c.pmax, "pmax");
}

TEST_F(PmapIntro, Training) {
  auto [x, y] = pmap_intro::make_data(ts::random::key(0), 256);
  golden.near(x[ts::until(8)], "x_head", 0);
  // Elementary functions and one rounding: an error of a unit in the last place of numbers up to
  // 1.1.
  golden.near(y[ts::until(8)], "y_head", 0x1p-22);
  auto t = pmap_intro::train(ts::random::key(42), x, y, 4, 200);
  golden.near(Array(t.losses), "exact_losses", kLosses);
  golden.near(Array(t.losses), "losses", kLosses + kLossesOfJax);
  auto state = pmap_intro::gather(t);
  EXPECT_EQ(state.step.item<int>(), 200);
  Array at = ts::linspace(-1, 1, 21).reshape(21, 1);
  golden.near(state.model(at), "predictions", kPredictions);
}

// The mean over devices of the gradients of equally large shards is the gradient of the whole
// batch.
TEST_F(PmapIntro, AnyNumberOfDevices) {
  auto [x, y] = pmap_intro::make_data(ts::random::key(0), 256);
  for (int devices : {1, 2, 8}) {
    ts::set_device_count(devices);
    auto t = pmap_intro::train(ts::random::key(42), x, y, devices, 200);
    golden.near(Array(t.losses), "exact_losses", kLosses);
  }
}

}  // namespace
