// The memory that pipelines hold as the number of microbatches grows.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

namespace ts = tessera;
using ts::Array;
using ts::Schedule;

namespace {

struct Layer {
  Array w, b;
};
Array layer(const Layer& p, Array x) { return ts::tanh(ts::dot(x, p.w) + p.b); }
Array loss(Array y, Array target) { return ts::mean(ts::square(y - target)); }

constexpr std::int64_t kStages = 4, kWidth = 64, kRows = 32;
constexpr std::int64_t kMicrobatch = kRows * kWidth * 4;  // bytes

class Memory : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(8); }
  const Layer params{ts::abstract(ts::f32, {kStages, kWidth, kWidth}),
                     ts::abstract(ts::f32, {kStages, kWidth})};
  static Array batch(std::int64_t microbatches) {
    return ts::abstract(ts::f32, {microbatches * kRows, kWidth});
  }
  std::int64_t training(Schedule schedule, std::int64_t m) const {
    const ts::Mesh mesh({{"stage", kStages}});
    auto step = ts::jit(ts::pipeline_value_and_grad(
        layer, loss, {.mesh = mesh, .microbatches = m, .schedule = schedule}));
    return step.lower(params, batch(m), batch(m)).memory().temporaries;
  }
  std::int64_t gradient(bool checkpoint, std::int64_t m) const {
    const ts::Mesh mesh({{"stage", kStages}});
    auto network = ts::pipeline(layer, {.mesh = mesh, .microbatches = m, .remat = checkpoint});
    auto step = ts::jit(ts::value_and_grad(
        [&](const Layer& p, Array x, Array target) { return loss(network(p, x), target); }));
    return step.lower(params, batch(m), batch(m)).memory().temporaries;
  }
};

// The timetable has four int32 per tick and device.
std::int64_t table_bytes(std::int64_t m) { return kStages * 2 * (m + kStages - 1) * 16; }

TEST_F(Memory, OneForwardOneBackwardIsBoundedByTheStages) {
  const std::int64_t few = training(Schedule::one_f_one_b, 8);
  for (std::int64_t m : {9, 16, 64})
    EXPECT_EQ(training(Schedule::one_f_one_b, m) - few, table_bytes(m) - table_bytes(8)) << m;
  // With fewer microbatches than stages there is less to hold.
  EXPECT_LE(training(Schedule::one_f_one_b, 2), few - 2 * kStages * kMicrobatch);
}

TEST_F(Memory, GPipeGrowsWithTheMicrobatches) {
  EXPECT_EQ(training(Schedule::gpipe, 2), training(Schedule::one_f_one_b, 2));
  EXPECT_EQ(training(Schedule::gpipe, 4), training(Schedule::one_f_one_b, 4));
  for (std::int64_t m : {8, 16, 64})
    EXPECT_GE(training(Schedule::gpipe, m) - training(Schedule::gpipe, 4),
              (m - 4) * kStages * kMicrobatch)
        << m;
}

// The gradient of the pipeline also keeps the values inside a stage, here one more activation per
// tick. With checkpoint it does not, but needs memory for one while it recomputes it.
TEST_F(Memory, Checkpoint) {
  const auto saved = [&](std::int64_t m) { return gradient(false, m) - gradient(true, m); };
  EXPECT_GE(saved(128) - saved(64), (128 - 64) * kStages * kMicrobatch);
  EXPECT_LT(training(Schedule::gpipe, 16), gradient(true, 16));
}

}  // namespace
