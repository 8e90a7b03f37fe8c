// The cells of examples/01_single_host_sharding agree with JAX (single_host_sharding.py).
#include "01_single_host_sharding/cells.h"

#include "examples/golden.h"
#include "isolated.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using ts::Array;
using namespace single_host_sharding;

namespace {

class SingleHostSharding : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(4); }
  const example_test::Golden golden{"single_host_sharding"};
  const Array scalar = ts::array(5.0f);
};
// The error of sums of up to 24 numbers below 5: 24 * 5 * 2^-24.
constexpr double kSums = 1e-5;

TEST_F(SingleHostSharding, ScalesAndPrepares) {
  golden.equal(scale_on_each_device().result, "scaled");
  Prepared p = prepare(global_data());
  golden.equal(p.stacked, "prepared");
  golden.equal(p.reshaped, "prepared");
}

TEST_F(SingleHostSharding, AxesInAndOut) {
  Array prepared = prepare(global_data()).reshaped;
  golden.near(process_on_all_devices(prepared, scalar), "processed", kSums);
  golden.near(scalar_of_each_device(prepared, scalar), "scalars", kSums);
  golden.near(identical_result(), "identical", 0);
}

TEST_F(SingleHostSharding, NothingMapped) {
  NothingMapped n = nothing_mapped();
  EXPECT_TRUE(ts::tree::equal(n.on_all, ts::array({100, 101, 102, 103})));
  EXPECT_TRUE(ts::tree::equal(n.on_two, ts::array({100, 101})));
  EXPECT_TRUE(ts::tree::equal(n.on_listed, ts::array({100, 101})));
  EXPECT_EQ(n.on_listed.sharding().devices(), (std::vector<ts::Device>{{3}, {0}}));
}

TEST_F(SingleHostSharding, SomeDevices) {
  Array subset = global_data()(ts::until(16)).reshape(2, 8, 3);
  std::vector<ts::Device> devices = ts::devices();
  devices.resize(2);
  Array result = process_on_devices(subset, scalar, devices);
  golden.near(result, "subset", kSums);
  EXPECT_EQ(result.sharding().devices(), devices);
}

TEST_F(SingleHostSharding, StaticNumbers) {
  Array shards = global_data().reshape(4, 8, 3)(ts::all, ts::all, 0), offset = ts::array(0.5f);
  auto f = ts::pmap(static_op, {.in_axes = {0, replicated, replicated}});
  testing::internal::CaptureStdout();
  Array seven = f(shards, 7, offset), three = f(shards, 3, offset), again = f(shards, 7, offset);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "static_op TRACED with static_value = 7\nstatic_op TRACED with static_value = 3\n");
  golden.near(seven, "static_7", kSums);
  golden.near(three, "static_3", 1e-6);
  EXPECT_TRUE(ts::tree::equal(seven, again));
}

TEST_F(SingleHostSharding, StaticArrays) {
  Array prepared = prepare(global_data()).reshaped;
  auto f = ts::pmap(sum_of_features, {.in_axes = {0, replicated}});
  golden.near(f(prepared, ts::array({0, 2})), "features_0_2", 0);
  EXPECT_TRUE(ts::tree::equal(f(prepared, ts::array({1})), prepared(ts::all, ts::all, 1)));
  f(prepared, ts::array({0, 2}));
  EXPECT_EQ(f.trace_count(), 2u);
  EXPECT_EQ(warning_of_large_static(16384), "nothing");
  EXPECT_EQ(warning_of_large_static(16385).find("look_up: an argument has 65540 bytes"), 0u);
}

TEST_F(SingleHostSharding, Collectives) {
  Array prepared = prepare(global_data()).reshaped;
  Combined c = combine(prepared, ts::random::uniform(ts::random::key(1), {3, 2}));
  golden.near(c.sum, "psum", 1e-5);
  golden.near(c.mean_of_one, "pmean", 1e-6);
  golden.near(c.first_rows, "rows", 1e-6);
  golden.near(c.whole[0], "whole", 1e-6);
  for (int device = 1; device < 4; ++device) {
    EXPECT_TRUE(bool(ts::array_equal(c.sum[0], c.sum[device])));
    EXPECT_TRUE(bool(ts::array_equal(c.first_rows[0], c.first_rows[device])));
    EXPECT_TRUE(bool(ts::array_equal(c.whole[0], c.whole[device])));
  }
}

TEST_F(SingleHostSharding, Memory) {
  Memory m = memory_of_data_parallelism();
  ASSERT_EQ(m.rows.size(), 3u);
  const std::int64_t weights = 256 * 256 * 4, shard = 64 * 256 * 4;
  auto is = [&](const Footprint& f, std::int64_t device, std::int64_t all, std::int64_t process) {
    EXPECT_EQ(f.each_device, device) << f.what;
    EXPECT_EQ(f.all_devices, all) << f.what;
    EXPECT_EQ(f.process, process) << f.what;
  };
  // A value that is equal on all devices is stored once, unless they are isolated.
  is(m.rows[0], weights, 4 * weights, test::isolated() ? 4 * weights : weights);
  is(m.rows[1], shard, 4 * shard, 4 * shard);
  is(m.rows[2], shard, 4 * shard, 4 * shard);
}

}  // namespace
