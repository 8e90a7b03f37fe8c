#include "runtime/array_data.h"
#include "../specs.h"

#include "runtime/buffer.h"
#include "runtime/host/devices.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace ts = tessera;
using namespace tessera::runtime;

namespace {

ArrayDataPtr counted(const ts::Shape& shape) {
  std::vector<float> v(static_cast<std::size_t>(shape.count()));
  std::iota(v.begin(), v.end(), 0.f);
  return from_host(ts::Type(ts::f32, shape), v.data());
}
std::vector<float> read(const ArrayData& a) {
  BufferPtr hold;
  const auto* p = reinterpret_cast<const float*>(dense_bytes(a, hold));
  return {p, p + a.type.shape.count()};
}
LayoutPtr on_mesh(const std::string& text, std::vector<std::int64_t> sizes = {2, 2}) {
  ts::DeviceMesh mesh{{{"x", "y"}, sizes}, {}};
  for (int d = 0; d < mesh.size(); ++d) mesh.devices.push_back(d);
  return intern({ts::MeshRef(mesh), spec(text), false});
}

struct Devices {
  int before = device_count();
  explicit Devices(int n) { set_device_count(n); }
  ~Devices() { set_device_count(before); }
};

}  // namespace

TEST(ArrayData, KeepsItsBytes) {
  auto a = counted({2, 3});
  EXPECT_EQ(read(*a), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a->shards[0].buffer->host_data()) % 64, 0u);
}

TEST(ArrayData, LayoutsAreInterned) {
  EXPECT_EQ(on_mesh("x"), on_mesh("x"));
  EXPECT_NE(on_mesh("x"), on_mesh("y"));
}

TEST(ArrayData, CutsAndGathersEverySpec) {
  Devices devices(4);
  auto a = counted({4, 4, 2});
  for (std::string spec : {"", "x", "y", ";x", "x;y", "y;x", "x,y", "y,x", ";x,y", ";;x", "x;;y"}) {
    auto b = relayout(a, on_mesh(spec));
    ASSERT_EQ(b->shards.size(), 4u);
    EXPECT_EQ(read(*b), read(*a)) << spec;
    for (std::string other : {"", "x", ";y,x"})
      EXPECT_EQ(read(*relayout(b, on_mesh(other))), read(*a)) << spec << " " << other;
  }
}

TEST(ArrayData, ShardsHoldTheirBlocks) {
  Devices devices(4);
  auto b = relayout(counted({4, 2}), on_mesh("y;x"));
  EXPECT_EQ(b->shard_shape(), (ts::Shape{2, 1}));
  // Device 1 is x = 0, y = 1: rows 2 and 3 of column 0.
  const auto* p =
      reinterpret_cast<const float*>(b->shards[1].buffer->host_data() + b->shards[1].offset);
  EXPECT_EQ(p[0], 4.f);
  EXPECT_EQ(p[1], 6.f);
}

TEST(ArrayData, FirstDimensionIsCutWithoutACopy) {
  Devices devices(4);
  auto a = counted({8, 2});
  auto b = relayout(a, on_mesh("x,y"));
  for (int d = 0; d < 4; ++d)
    EXPECT_EQ(b->shards[d].buffer->host_data() + b->shards[d].offset,
              a->shards[0].buffer->host_data() + d * 16);
}

TEST(ArrayData, RowsAreViews) {
  Devices devices(4);
  auto a = counted({4, 3});
  auto row = row_view(a, 2);
  EXPECT_EQ(read(*row), (std::vector<float>{6, 7, 8}));
  EXPECT_EQ(row->shards[0].buffer, a->shards[0].buffer);
  auto sharded = row_view(relayout(a, on_mesh("x,y")), 3);
  EXPECT_EQ(read(*sharded), (std::vector<float>{9, 10, 11}));
  EXPECT_EQ(sharded->layout->devices(), std::vector<int>{3});
  EXPECT_EQ(row_view(relayout(a, on_mesh("x;", {2, 1})), 4), nullptr);
}

TEST(Memory, LogicalBytesCountEveryDeviceAndPhysicalOnce) {
  Devices devices(4);
  reset_peak_memory();
  auto before = memory_stats(3).live;
  auto physical = physical_memory_stats().live;
  {
    auto a = counted({1024});
    auto b = relayout(a, on_mesh(""));
    EXPECT_EQ(memory_stats(3).live - before, 4096);
    EXPECT_EQ(physical_memory_stats().live - physical, 4096);
  }
  EXPECT_EQ(memory_stats(3).live, before);
  EXPECT_EQ(memory_stats(3).peak - before, 4096);
  EXPECT_EQ(physical_memory_stats().live, physical);
}

TEST(Memory, WarmPagesAreReused) {
  void* first = counted({100000})->shards[0].buffer->host_data();
  EXPECT_EQ(counted({100000})->shards[0].buffer->host_data(), first);
}

TEST(Devices, ShrinkOnlyWhenEmpty) {
  Devices devices(4);
  auto a = relayout(counted({4}), on_mesh("x,y"));
  try {
    set_device_count(2);
    FAIL();
  } catch (const ts::DeviceError& e) {
    EXPECT_STREQ(e.what(),
                 "set_device_count: cannot shrink from 4 to 2 devices: 2 blocks of arrays live on "
                 "devices 2 to 3\n"
                 "  rule: devices can go once no array lives on them\n"
                 "  try: let those arrays go out of scope first, or move them with device_put");
  }
  a = nullptr;
  set_device_count(2);
  EXPECT_EQ(device_count(), 2);
}
