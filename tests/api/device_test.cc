// Devices, the devices of arrays, and their memory.
#include <tessera/collectives.h>
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>
#include <tessera/vmap.h>

#include "api/check.h"
#include "isolated.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>

namespace ts = tessera;
using api_test::f32s;
using api_test::message;
using ts::Array;
using ts::Device;
using ts::Shape;

namespace {

class Devices : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(8); }
  void TearDown() override { ts::set_device_count(8); }
};
template <class T>
std::string text(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

TEST_F(Devices, CountAndNames) {
  NEEDS_CPU(devices);
  EXPECT_EQ(ts::device_count(), 8);
  EXPECT_EQ(ts::devices().size(), 8u);
  EXPECT_EQ(text(ts::devices()[3]), "CpuDevice(id=3)");
  ts::set_device_count(2);
  EXPECT_EQ(text(ts::devices()), "[CpuDevice(id=0), CpuDevice(id=1)]");
  ts::set_device_count(96);
  EXPECT_EQ(ts::device_count(), 96);
  EXPECT_EQ(ts::default_backend(), "cpu");
}

TEST_F(Devices, DoNotGoWhileArraysLiveOnThem) {
  NEEDS_CPU(devices);
  Array x = ts::device_put(ts::ones({4}), Device{6});
  x.block_until_ready();
  EXPECT_EQ(message<ts::DeviceError>([] { ts::set_device_count(4); }),
            "set_device_count: cannot shrink from 8 to 4 devices: 1 block of an array lives on "
            "devices 4 to 7\n  rule: devices can go "
            "once no array lives on them\n  try: let those arrays go out of scope first, or move "
            "them with device_put");
  EXPECT_EQ(ts::device_count(), 8);
  EXPECT_EQ(f32s(x), std::vector<float>(4, 1.0f));
  x = Array();
  ts::set_device_count(4);
  EXPECT_EQ(ts::device_count(), 4);
  for (int n : {0, -3}) EXPECT_THROW(ts::set_device_count(n), ts::DeviceError);
}

// Memory of a moved array is shared, not copied, and no longer charged to the device that it came
// from.
TEST_F(Devices, GoOnceTheirArraysAreMoved) {
  for (bool get : {false, true}) {
    ts::set_device_count(8);
    std::int64_t live = ts::memory_stats(Device{6}).live;
    Array x = ts::device_put(ts::ones({4}), Device{6});
    const float* memory = x.host<float>().data();
    x = get ? ts::device_get(x) : ts::device_put(x, Device{1});
    EXPECT_EQ(ts::memory_stats(Device{6}).live, live);
    ts::set_device_count(4);
    EXPECT_EQ(f32s(x), std::vector<float>(4, 1.0f));
    EXPECT_EQ(x.host<float>().data(), memory);
  }
}

// A donated array that shares its memory with another array is copied, not overwritten.
TEST_F(Devices, DonationSparesSharedMemory) {
  NEEDS_CPU(in_place);
  const std::int64_t n = 1 << 14;
  Array w = ts::arange(static_cast<float>(n));
  auto negate = ts::pmap([](Array v) { return -v; }, {.donate = {0}});
  Array y = negate(ts::broadcast_to(w, {8, n}));
  EXPECT_EQ(y(7, 5).item<float>(), -5.0f);
  EXPECT_EQ(w[5].item<float>(), 5.0f);
  auto alone = ts::jit([](Array v) { return -v; }, {.donate = {0}});
  Array moved = ts::device_put(w, Device{3});
  EXPECT_EQ(alone(moved)[5].item<float>(), -5.0f);
  EXPECT_EQ(w[5].item<float>(), 5.0f);
  Array last = ts::device_put(w, Device{2});
  const float* memory = w.host<float>().data();
  w = moved = Array();
  EXPECT_EQ(alone(last).host<float>().data(), memory) << "nobody else has it any more";
}

TEST_F(Devices, PutAndGet) {
  Array x = ts::arange(6.0f);
  Array y = ts::device_put(x, Device{5});
  EXPECT_EQ(text(y.sharding()), "SingleDevice(CpuDevice(id=5))");
  EXPECT_EQ(f32s(y), f32s(x));
  // Computations follow the committed operand.
  EXPECT_EQ(text((x + y * 2).sharding()), "SingleDevice(CpuDevice(id=5))");
  EXPECT_EQ(text(ts::device_get(y).sharding()), "SingleDevice(CpuDevice(id=0))");
  Array z = ts::device_put(x, Device{2});
  EXPECT_EQ(
      message<ts::ShardingError>([&] { y + z; }),
      "add: the inputs are committed to different devices\n  - input 0, f32[6], is on "
      "CpuDevice(id=5)\n  - input 1, f32[6], is "
      "on CpuDevice(id=2)\n  rule: a computation runs on one device; inputs that are not committed "
      "follow those that are\n  "
      "try: move one of them: device_put(x, device), or device_get(x), which is not committed");
  EXPECT_TRUE(bool(ts::allclose(y, z)));
  EXPECT_TRUE(bool(ts::array_equal(y, z)));
  EXPECT_TRUE(ts::tree::equal(y, z));
  EXPECT_EQ(f32s(y + ts::device_get(z)), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::device_put(x, Device{8}); }),
            "device_put: there is no device 8\n  rule: this process has devices 0 to 7\n  try: "
            "call set_device_count(9) first, or set "
            "TESSERA_DEVICES");
  std::vector<Array> tree = ts::device_put(std::vector<Array>{x, z}, Device{1});
  EXPECT_EQ(text(tree[1].sharding()), "SingleDevice(CpuDevice(id=1))");
}

TEST_F(Devices, ShardsAreThePartsThemselves) {
  NEEDS_CPU(in_place);
  Array x = ts::pmap([](Array v) { return v * 2; })(ts::arange(12.0f).reshape(4, 3));
  EXPECT_EQ(x.sharding().devices().size(), 4u);
  std::vector<ts::Shard> shards = x.shards();
  ASSERT_EQ(shards.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const ts::Shard& s = shards[static_cast<std::size_t>(i)];
    EXPECT_EQ(s.device.id, i);
    EXPECT_EQ(s.replica_id, 0);
    EXPECT_EQ(s.data.shape(), (Shape{1, 3}));
    EXPECT_EQ(*s.index[0].start, i);
    EXPECT_EQ(*s.index[0].stop, i + 1);
    float v = 6.0f * static_cast<float>(i);
    EXPECT_EQ(f32s(s.data), (std::vector<float>{v, v + 2, v + 4}));
    EXPECT_EQ(s.data.host<float>().data(),
              x.shards()[static_cast<std::size_t>(i)].data.host<float>().data());
  }
}

// Replicated parameters are stored once for all devices that share memory, and once for each
// isolated one.
TEST_F(Devices, ReplicatedParametersAreStoredOnceAMemory) {
  NEEDS_CPU(memory);
  const std::int64_t n = 1 << 16, bytes = 4 * n;
  std::int64_t before = ts::physical_memory_stats().live;
  std::vector<std::int64_t> logical;
  for (Device d : ts::devices()) logical.push_back(ts::memory_stats(d).live);
  Array w =
      ts::pmap([](Array v, Array x) { return v + ts::psum(x, "i"); },
               {.axis_name = "i", .in_axes = {ts::replicated, 0}, .out_axes = ts::replicated})(
          ts::zeros({n}), ts::ones({8}));
  w.block_until_ready();
  std::vector<ts::Shard> shards = w.shards();
  ASSERT_EQ(shards.size(), 8u);
  const std::int64_t copies = test::isolated() ? 8 : 1;
  std::set<const float*> stored;
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(shards[i].replica_id, static_cast<int>(i));
    stored.insert(shards[i].data.host<float>().data());
    EXPECT_EQ(f32s(shards[i].data)[7], 8.0f);
  }
  EXPECT_EQ(stored.size(), static_cast<std::size_t>(copies));
  EXPECT_TRUE(w.sharding().is_fully_replicated());
  shards.clear();
  // Every device's account has its copy; the process's account has the copies that are stored.
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(ts::memory_stats(Device{static_cast<int>(i)}).live - logical[i], bytes) << i;
  const std::int64_t live = ts::physical_memory_stats().live - before;
  EXPECT_GE(live, copies * bytes);
  EXPECT_LT(live, (copies + 1) * bytes);
  w = Array();
  EXPECT_EQ(ts::memory_stats(Device{7}).live, logical[7]);
}

TEST_F(Devices, StackingOneArrayStoresItOnce) {
  const std::int64_t n = 1 << 16, bytes = 4 * n;
  Array w = ts::arange(static_cast<float>(n));
  w.block_until_ready();
  std::int64_t before = ts::physical_memory_stats().live;
  Array all = ts::stack(std::vector<Array>(8, w));
  all.block_until_ready();
  EXPECT_LT(ts::physical_memory_stats().live - before, bytes);
  EXPECT_EQ(all.shape(), (Shape{8, n}));
  Array y = ts::pmap([](Array v) { return v; })(all);
  y.block_until_ready();
  EXPECT_LT(ts::physical_memory_stats().live - before, 2 * bytes);
  EXPECT_EQ(y(7, -1).item<float>(), static_cast<float>(n - 1));
}

TEST_F(Devices, PeaksAreRemembered) {
  ts::reset_peak_memory();
  std::int64_t live = ts::memory_stats(Device{3}).live;
  { ts::device_put(ts::ones({1000}), Device{3}).block_until_ready(); }
  EXPECT_EQ(ts::memory_stats(Device{3}).live, live);
  EXPECT_EQ(ts::memory_stats(Device{3}).peak, live + 4000);
  ts::reset_peak_memory();
  EXPECT_EQ(ts::memory_stats(Device{3}).peak, live);
  EXPECT_THROW(ts::memory_stats(Device{8}), ts::DeviceError);
}

TEST_F(Devices, TableOfMemory) {
  NEEDS_CPU(memory);
  ts::set_device_count(2);
  std::int64_t live[2] = {ts::memory_stats(Device{0}).live, ts::memory_stats(Device{1}).live};
  Array w = ts::pmap([] { return ts::full({256}, 1.5f); },
                     {.out_axes = ts::replicated, .axis_size = 2})();
  w.block_until_ready();
  ts::reset_peak_memory();
  const std::string table = ts::memory_table();
  auto row = [](const char* name, std::int64_t bytes) {
    std::string n = std::to_string(bytes) + " B";
    n = std::string(12 - n.size(), ' ') + n;
    return name + n + " " + n + "\n";
  };
  live[0] += 1024, live[1] += 1024;
  EXPECT_EQ(table.substr(0, table.find("physical")),
            "device                     live         peak\n" + row("CpuDevice(id=0)    ", live[0]) +
                row("CpuDevice(id=1)    ", live[1]) +
                row("sum, logical       ", live[0] + live[1]));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5);
}

TEST_F(Devices, ShardingsPrint) {
  Array x = ts::pmap([](Array v) { return v; }, {.axis_name = "batch"})(ts::ones({4, 2}));
  EXPECT_EQ(text(x.sharding()), "NamedSharding(Mesh('batch': 4), P('batch'))");
  Array t =
      ts::pmap([](Array v) { return v; }, {.axis_name = "batch", .out_axes = 1})(ts::ones({4, 2}));
  EXPECT_EQ(text(t.sharding()), "NamedSharding(Mesh('batch': 4), P(none, 'batch'))");
}

TEST_F(Devices, RowsOfOneArrayComputeTogether) {
  Array x = ts::pmap([](Array v) { return v; })(ts::arange(8).reshape(4, 2));
  EXPECT_EQ((x[3] - x[1]).to_vector<std::int32_t>(), (std::vector<std::int32_t>{4, 4}));
  Array there = ts::device_put(ts::arange(2), ts::devices()[2]);
  EXPECT_EQ(text((x[1] + there).sharding()), "SingleDevice(" + text(ts::devices()[2]) + ")");
}

namespace {
struct ComputesAtTheEnd {
  Array x;
  ~ComputesAtTheEnd() {
    if (x.is_empty()) return;
    auto f = ts::jit([](Array v) { return ts::sum(ts::sin(ts::sort(v)) * 3); });
    ts::vmap(f, {.axis_name = "rows"})(x.reshape(3, 2)).block_until_ready();
    std::cerr << ts::dot(x + 1, x) << "\n";
  }
};
ComputesAtTheEnd at_the_end;
}  // namespace

TEST_F(Devices, StaticArraysComputeWhileTheProcessEnds) {
  NEEDS_CPU(after_exit);
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a fork has no workers
  EXPECT_EXIT(
      {
        at_the_end.x = ts::arange(6.0) * 2;
        std::exit(0);
      },
      testing::ExitedWithCode(0), "250");
}
