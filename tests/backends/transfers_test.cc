// Blocks and arrays go to each platform and come back as they were.
#include "backends/platforms.h"

#include <atomic>
#include <numeric>
#include <thread>

using namespace backends;

namespace {

class Transfers : public OnEachPlatform {};
ON_EACH_PLATFORM(Transfers);

const ts::Type kType(ts::f32, {6, 6});

ts::HostArray fetched(Backend& backend, const ts::Type& type, const Shard& from) {
  ts::HostArray got(type.dtype, type.shape);
  wait_for(backend.to_host(type, from, got.bytes));
  return got;
}

}  // namespace

TEST_P(Transfers, PlatformsAreFoundByName) {
  EXPECT_EQ(find_backend(name), &backend);
  EXPECT_EQ(backend.platform(), name);
  const std::vector<std::string> names = platforms();
  EXPECT_EQ(names[static_cast<std::size_t>(backend.number())], name);
  EXPECT_EQ(names[0], "cpu");
}

TEST_P(Transfers, DevicesOfOneProcessAreItsOwn) {
  ASSERT_GE(backend.device_count(), 1);
  std::vector<int> all(static_cast<std::size_t>(backend.device_count()));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(backend.local_devices(), all);
  EXPECT_EQ(backend.first_local_device(), 0);
  for (const int d : all) {
    EXPECT_TRUE(backend.is_local(d));
    EXPECT_EQ(backend.process_of(d), 0);
  }
}

TEST_P(Transfers, BlocksComeBackFromEveryDevice) {
  const ts::HostArray values = counted(kType);
  const ArrayDataPtr source = put(values);
  for (int d = 0; d < count; ++d) {
    const Placed there = backend.to_device(kType, source->shards[0], d);
    wait_for(there.pending);
    EXPECT_TRUE(same_bits(fetched(backend, kType, there.shard), values)) << d;
    for (int other = 0; other < count; ++other) {
      const Placed copy = backend.copy(kType, there.shard, other);
      wait_for(copy.pending);
      EXPECT_TRUE(same_bits(fetched(backend, kType, copy.shard), values)) << d << " to " << other;
    }
  }
  EXPECT_TRUE(same_bits(host(*source), values));
}

TEST_P(Transfers, EveryDtypeKeepsItsBits) {
  for (const ts::DType dtype :
       {ts::DType::boolean, ts::DType::int8, ts::DType::uint8, ts::DType::int16, ts::DType::uint16,
        ts::DType::int32, ts::DType::uint32, ts::DType::int64, ts::DType::uint64,
        ts::DType::float16, ts::DType::bfloat16, ts::DType::float32, ts::DType::float64,
        ts::DType::complex64, ts::DType::complex128}) {
    const ts::Type type(dtype, {5, 3});
    ts::HostArray values(dtype, type.shape);
    for (std::int64_t i = 0; i < values.size_bytes(); ++i)
      values.bytes[i] = static_cast<std::byte>(dtype == ts::DType::boolean ? i % 2 : i * 37 + 11);
    EXPECT_TRUE(same_bits(host(*put_on(last, values)), values)) << to_string(type);
  }
}

TEST_P(Transfers, ScalarsAndEmptyArrays) {
  for (const ts::Shape& shape : {ts::Shape{}, ts::Shape{0}, ts::Shape{3, 0, 2}, ts::Shape{1, 1}}) {
    const ts::Type type(ts::f32, shape);
    const ts::HostArray values = counted(type);
    const ArrayDataPtr there = put_on(last, values);
    EXPECT_EQ(there->type.shape, shape);
    EXPECT_TRUE(same_bits(host(*there), values)) << to_string(type);
  }
}

TEST_P(Transfers, ArraysLieWholeAndCut) {
  const ts::HostArray values = counted(kType);
  for (const LayoutPtr& layout : {on(0), on(last), over_all(""), over_all("i"), over_all(";i")}) {
    const ArrayDataPtr there = relayout(put(values), layout);
    EXPECT_EQ(there->layout, layout);
    EXPECT_EQ(there->shards.size(), layout->devices().size());
    EXPECT_TRUE(same_bits(host(*there), values)) << to_string(layout->spec);
    // Move on from there to every other placement, and back to the host.
    for (const LayoutPtr& next :
         {on(0), on(last), over_all(""), over_all("i"), over_all(";i"), host_layout()})
      EXPECT_TRUE(same_bits(host(*relayout(there, next)), values))
          << to_string(layout->spec) << " to " << to_string(next->spec);
    const auto* view = reinterpret_cast<const float*>(host_view(*there));
    for (std::int64_t i = 0; i < values.count(); ++i) EXPECT_EQ(view[i], values.number(i));
  }
}

// Each shard of a sharded array is a separate block.
TEST_P(Transfers, ShardsAreTheBlocksOfTheirDevices) {
  const ts::HostArray values = counted(kType);
  const ArrayDataPtr rows = relayout(put(values), over_all("i"));
  wait_for(rows->pending);
  const std::int64_t each = 6 / count;
  const ts::Type block(ts::f32, {each, 6});
  EXPECT_EQ(rows->shard_shape(), block.shape);
  for (int k = 0; k < count; ++k) {
    const ts::HostArray got = fetched(backend, block, rows->shards[static_cast<std::size_t>(k)]);
    for (std::int64_t i = 0; i < got.count(); ++i)
      EXPECT_EQ(got.number(i), values.number(k * each * 6 + i)) << k;
  }
}

// Host memory may be read in place; other memory has a handle and no address.
TEST_P(Transfers, MemoryIsTheHostsOrHasAHandle) {
  const ArrayDataPtr there = put_on(0, counted(kType));
  const Buffer& buffer = *there->shards[0].buffer;
  BufferPtr hold;
  if (buffer.is_host()) {
    EXPECT_NE(dense_view(*there, hold), nullptr);
    EXPECT_EQ(buffer.handle(), nullptr);
    return;
  }
  EXPECT_NE(buffer.handle(), nullptr);
  EXPECT_EQ(there->shards[0].offset, 0u);
  EXPECT_EQ(dense_view(*there, hold), nullptr);
  EXPECT_EQ(row_view(there, 0), nullptr);
  EXPECT_EQ(stack_of_one(there, 1), nullptr);
  EXPECT_THROW(buffer.host_data(), ts::InternalError);
}

// The source stays alive until the transfer ends, although nobody else holds it.
TEST_P(Transfers, SourcesLiveAsLongAsTheirTransfers) {
  const ts::Type type(ts::f32, {256, 256});
  const ts::HostArray values = counted(type);
  std::vector<ArrayDataPtr> there;
  for (int k = 0; k < 8; ++k) there.push_back(put_on(k % count, values));
  for (const ArrayDataPtr& a : there) EXPECT_TRUE(same_bits(host(*a), values));
  std::vector<ArrayDataPtr> moved;
  for (const ArrayDataPtr& a : there)
    moved.push_back(relayout(a, on((a->layout->devices()[0] + 1) % count)));
  there.clear();
  for (const ArrayDataPtr& a : moved) EXPECT_TRUE(same_bits(host(*a), values));
}

TEST_P(Transfers, SeveralThreadsReadWhatIsStillUnderWay) {
  const ts::Type type(ts::f32, {255, 256});
  const ts::HostArray values = counted(type);
  const ArrayDataPtr whole = put_on(last, values), rows = relayout(put(values), over_all("i"));
  std::atomic<int> right{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t)
    readers.emplace_back([&, t] {
      right += same_bits(host(t % 2 ? *whole : *rows), values) ? 1 : 0;
      right += same_bits(host(*relayout(t % 2 ? rows : whole, on(0))), values) ? 1 : 0;
    });
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(right, 8);
}

TEST_P(Transfers, CompletionsTellEverybodyOnce) {
  const ArrayDataPtr there = put_on(last, counted(kType));
  if (!there->pending) return;  // it was complete when it was returned
  std::atomic<int> told{0};
  for (int k = 0; k < 3; ++k)
    there->pending->then([&](const std::exception_ptr& error) { told += error ? 100 : 1; });
  std::atomic<int> waited{0};
  std::vector<std::thread> waiting;
  for (int t = 0; t < 2; ++t)
    waiting.emplace_back([&] {
      there->pending->wait();
      ++waited;
    });
  for (std::thread& t : waiting) t.join();
  EXPECT_EQ(waited, 2);
  EXPECT_TRUE(there->pending->done());
  while (told < 3) std::this_thread::yield();  // callbacks run on the thread that completed it
  EXPECT_EQ(told, 3);
  there->pending->then([&](const std::exception_ptr& error) { told += error ? 100 : 1; });
  EXPECT_EQ(told, 4);
}

TEST_P(Transfers, MemoryIsCounted) {
  const ts::Type type(ts::f32, {1024});
  const MemoryStats before = backend.memory_stats(last);
  const ArrayDataPtr there = put_on(last, counted(type));
  wait_for(there->pending);
  const MemoryStats now = backend.memory_stats(last);
  if (now.peak == 0) GTEST_SKIP() << "the platform does not count";
  EXPECT_GE(now.live, before.live + type.bytes());
  EXPECT_GE(now.peak, now.live);
  EXPECT_GE(now.peak, before.peak);
  const ArrayDataPtr more = put_on(last, counted(type));
  wait_for(more->pending);
  EXPECT_GE(backend.memory_stats(last).live, now.live + type.bytes());
  EXPECT_GE(backend.memory_stats(last).peak, now.peak);
}
