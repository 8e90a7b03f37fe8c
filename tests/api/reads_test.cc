// Repeated reads of one array in every form of storage.
#include "api/array/array_impl.h"

#include <tessera/collectives.h>
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>

#include "api/check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <numeric>
#include <thread>

namespace ts = tessera;
using api_test::f32s;
using ts::Array;

namespace {

constexpr std::int64_t kRows = 4, kRow = 512;

Array counted() { return ts::arange(static_cast<float>(kRow)); }
std::vector<float> row(float factor = 1) {
  std::vector<float> v(static_cast<std::size_t>(kRow));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = factor * static_cast<float>(i);
  return v;
}
std::vector<float> times(const std::vector<float>& row, std::int64_t n) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < n; ++i) v.insert(v.end(), row.begin(), row.end());
  return v;
}

struct StoredOnce {
  const char* name;
  Array array;
  std::vector<float> values;
};
std::vector<StoredOnce> stored_once() {
  ts::set_device_count(8);
  const Array x = counted(), all = ts::broadcast_to(x, {kRows, kRow}) + 0;
  auto mapped = [&](auto f, ts::PmapOptions options = {}) {
    options.axis_name = "i";
    return ts::pmap(f, options)(all);
  };
  return {
      {"broadcast_to", ts::broadcast_to(x, {kRows, kRow}), times(row(), kRows)},
      {"replicate", ts::replicate(x, kRows), times(row(), kRows)},
      {"stack of one", ts::stack({x, x, x, x}), times(row(), kRows)},
      {"psum", mapped([](Array v) { return ts::psum(v, "i"); }), times(row(kRows), kRows)},
      {"all_gather", mapped([](Array v) { return ts::all_gather(v, "i"); }),
       times(times(row(), kRows), kRows)},
      {"out_axes", mapped([](Array v) { return ts::expand_dims(v, 0); }, {.out_axes = 1}),
       times(row(), kRows)},
      {"computed", mapped([](Array v) { return ts::psum(v, "i") * 0 + 3; }),
       std::vector<float>(static_cast<std::size_t>(kRows * kRow), 3)},
  };
}

// Allocates arrays that would get memory that a read freed too early.
void reuse_memory() {
  std::vector<Array> others;
  for (int k = 0; k < 8; ++k)
    for (std::int64_t n : {kRow, kRow * kRows, kRow * kRows * kRows})
      others.push_back(ts::full({n}, -1.0));
  for (const Array& a : others) a.block_until_ready();
}

}  // namespace

TEST(Reads, OfWhatIsStoredOnceStayValidWhileTheArrayLives) {
  for (const StoredOnce& s : stored_once()) {
    const auto first = s.array.host<float>(), second = s.array.host<float>();
    const std::vector<float> copy = f32s(s.array);
    const std::string text = to_string(s.array);
    reuse_memory();
    EXPECT_TRUE(std::equal(first.begin(), first.end(), s.values.begin(), s.values.end())) << s.name;
    EXPECT_TRUE(std::equal(second.begin(), second.end(), s.values.begin(), s.values.end()))
        << s.name;
    EXPECT_EQ(copy, s.values) << s.name;
    EXPECT_EQ(to_string(s.array), text) << s.name;
    EXPECT_EQ(s.array.host<float>().data(), first.data()) << s.name << ": one copy is enough";
  }
}

TEST(Reads, FromTwoThreadsAgree) {
  for (int round = 0; round < 20; ++round) {
    for (const StoredOnce& s : stored_once()) {
      std::atomic<int> wrong{0};
      auto reader = [&](bool span) {
        for (int k = 0; k < 5; ++k) {
          if (span) {
            const auto values = s.array.host<float>();
            wrong += !std::equal(values.begin(), values.end(), s.values.begin());
          } else {
            wrong += f32s(s.array) != s.values;
          }
          wrong += ts::full({kRow * kRows}, -1.0)[0].item<float>() != -1;
        }
      };
      std::thread a(reader, true), b(reader, round % 2 == 0);
      a.join();
      b.join();
      EXPECT_EQ(wrong, 0) << s.name;
    }
  }
}

namespace {

// A computation that runs until it is told to end.
struct Endless : ts::runtime::Completion {
  std::atomic<bool> waiting{false};
  std::latch waited_for{1}, end{1};
  void wait() override {
    if (!waiting.exchange(true)) waited_for.count_down();
    end.wait();
  }
  bool done() const override { return end.try_wait(); }
  void then(Then) override {}
};

}  // namespace

// All kinds of reads of one array, while another array, which a thread waits for, is being
// computed.
TEST(Reads, OfReadyArraysDoNotWaitForAPendingOne) {
  const Array once = ts::broadcast_to(counted(), {kRows, kRow}), number(2.5), dense = counted();
  (void)dense.block_until_ready();
  auto computation = std::make_shared<Endless>();
  auto data = ts::runtime::alias(*ts::detail::Reading(once, "test"));
  data->pending = computation;
  const Array pending = ts::detail::make_concrete(data);
  std::thread waits([&] { EXPECT_EQ(f32s(pending), times(row(), kRows)); });
  std::thread gathers([&] { EXPECT_EQ(pending.host<float>()[1], 1); });
  computation->waited_for.wait();
  EXPECT_EQ(once.host<float>()[1], 1);
  EXPECT_EQ(f32s(once), times(row(), kRows));
  EXPECT_EQ(number.item<float>(), 2.5f);
  EXPECT_EQ(f32s(dense), row());
  EXPECT_EQ(once(3, 5).item<float>(), 5);
  EXPECT_FALSE(pending.is_ready());
  computation->end.count_down();
  waits.join();
  gathers.join();
}
