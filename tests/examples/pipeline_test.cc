// The cells of examples/12_pipeline agree with JAX (pipeline.py).
#include "12_pipeline/cells.h"

#include "examples/golden.h"
#include "isolated.h"

#include <gtest/gtest.h>

using namespace pipeline_example;

namespace {

// Activations are of order 1 to 4, and eight blocks in sequence sum 16 to 32 products each: float32
// sums in another order stay within 16 units of 2^-20.
constexpr double kRounding = 0x1p-16;

class Pipeline : public testing::Test {
 protected:
  void SetUp() override { use(8); }
  void use(int devices) {
    ts::set_device_count(devices);
    meshes = make_meshes();
  }
  const example_test::Golden golden{"pipeline"};
  Meshes meshes;
};

TEST_F(Pipeline, Meshes) {
  EXPECT_EQ(meshes.grid, Mesh({{"data", 2}, {"stage", 4}}));
  use(2);
  EXPECT_EQ(meshes.grid, Mesh({{"data", 1}, {"stage", 2}}));
}

TEST_F(Pipeline, ModelAndData) {
  const Batch batch = make_batch(ts::random::key(1));
  golden.near(batch.target[ts::until(4)], "target", kRounding);
  golden.near(network(init_blocks(ts::random::key(0)), batch.x)[ts::until(4)], "initial",
              kRounding);
}

// Gradients are means over 64 rows of 16 numbers, so they are smaller than the activations.
TEST_F(Pipeline, Gradients) {
  const Batch batch = make_batch(ts::random::key(1));
  const Block blocks = init_blocks(ts::random::key(0));
  for (std::int64_t microbatches : {1, 2, 4, 8, 16, 32})
    for (const Way& way : ways(meshes, microbatches)) {
      SCOPED_TRACE(way.name + ", " + std::to_string(microbatches));
      const auto [loss, g] = way.step(blocks, batch.x, batch.target);
      golden.near(g.up(ts::all, ts::until(2), ts::until(2)), "gradients/up", kRounding);
      golden.near(g.bias(ts::all, ts::until(2)), "gradients/bias", kRounding);
      golden.near(g.down(ts::all, ts::until(2), ts::until(2)), "gradients/down", kRounding);
    }
}

TEST_F(Pipeline, Training) {
  for (int devices : {8, 4, 2, 1}) {
    use(devices);
    for (const Way& way : ways(meshes, 8)) {
      SCOPED_TRACE(way.name + " on " + std::to_string(devices));
      const pipeline_example::Run run = train(way);
      golden.near(Array(run.losses), "losses", 1e-5);
      const Batch batch = make_batch(ts::random::key(1));
      // Eight steps add up their rounding errors.
      golden.near(network(run.blocks, batch.x)[ts::until(4)], "final", 8 * kRounding);
    }
  }
}

// 1F1B holds the activations of four microbatches, however many there are; GPipe those of all.
TEST_F(Pipeline, Memory) {
  const std::vector<Memory> all = memory_by_microbatches(meshes.grid);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].gpipe, all[0].one_f_one_b);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Memory &before = all[i - 1], &m = all[i];
    const std::int64_t more = m.microbatches - before.microbatches;
    EXPECT_EQ(m.microbatches, 2 * before.microbatches);
    // A microbatch adds two ticks, with four numbers per stage in the timetable of each device.
    EXPECT_LE(m.one_f_one_b - before.one_f_one_b, more * 2 * 16 * 8);
    EXPECT_GE(m.gpipe - before.gpipe, more * 8 * 32 * 64 * 4);
    EXPECT_GT(m.gradient, m.checkpointed);
    EXPECT_GT(m.checkpointed, m.gpipe);
  }
}

}  // namespace
