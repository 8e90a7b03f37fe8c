// Donated arrays: which reads still find them, and what becomes of their memory.
#include <tessera/collectives.h>
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
#include <tessera/safetensors.h>
#include <tessera/sharding.h>
#include <tessera/static_array.h>

#include "api/check.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <sstream>
#include <thread>

namespace ts = tessera;
using api_test::f32s;
using api_test::message;
using ts::Array;

namespace {

const auto kTake = ts::jit([](Array x) { return x + 1; }, {.donate = {0}, .name = "take"});

// Every way to read the values of an array, by name.
std::vector<std::pair<std::string, std::function<void(const Array&)>>> reads() {
  return {
      {"host", [](const Array& x) { (void)x.host<float>(); }},
      {"to_vector", [](const Array& x) { (void)x.to_vector<float>(); }},
      {"item", [](const Array& x) { (void)x.item<float>(); }},
      {"bool", [](const Array& x) { (void)bool(x); }},
      {"index", [](const Array& x) { (void)x[0]; }},
      {"index", [](const Array& x) { (void)x[-1]; }},
      {"index", [](const Array& x) { (void)x(ts::range(0, 1)); }},
      {"index", [](const Array& x) { (void)x.at(0).get(); }},
      {"at().set", [](const Array& x) { (void)x.at(0).set(1); }},
      {"range-for",
       [](const Array& x) {
         for (const Array& row : x) (void)row;
       }},
      {"shards", [](const Array& x) { (void)x.shards(); }},
      {"block_until_ready", [](const Array& x) { (void)x.block_until_ready(); }},
      {"device_put", [](const Array& x) { (void)ts::device_put(x, ts::Device{1}); }},
      {"device_put", [](const Array& x) { (void)ts::device_put(x, x.sharding()); }},
      {"device_get", [](const Array& x) { (void)ts::device_get(x); }},
      {"device_get", [](const Array& x) { (void)ts::StaticArray(x); }},
      {"unreplicate", [](const Array& x) { (void)ts::unreplicate(x); }},
      {"broadcast_to", [](const Array& x) { (void)ts::replicate(x, 4); }},
      {"stack",
       [](const Array& x) {
         (void)ts::stack({x, x});
       }},
      {"concatenate", [](const Array& x) { (void)ts::concatenate({x}); }},
      {"reshape", [](const Array& x) { (void)x.reshape(x.shape()); }},
      {"broadcast_to", [](const Array& x) { (void)ts::broadcast_to(x, x.shape()); }},
      {"astype", [](const Array& x) { (void)x.astype(x.dtype()); }},
      {"positive", [](const Array& x) { (void)+x; }},
      {"negative", [](const Array& x) { (void)-x; }},
      {"add", [](const Array& x) { (void)(x + 1); }},
      {"sum", [](const Array& x) { (void)ts::sum(x); }},
      {"take", [](const Array& x) { (void)kTake(x); }},
      {"save", [](const Array& x) { ts::save(testing::TempDir() + "donated.safetensors", x); }},
  };
}

struct Kind {
  std::string name;
  std::function<Array()> make;
};
std::vector<Kind> kinds() {
  ts::set_device_count(4);
  auto map = ts::pmap([](Array v) { return v * 2; });
  return {{"one element", [] { return ts::full({1}, 3.0); }},
          {"small",
           [] {
             return ts::full({4, 1}, 3.0);
           }},
          {"large",
           [] {
             return ts::full({4, 2000}, 3.0);
           }},
          {"replicated", [] { return ts::replicate(ts::full({5}, 3.0), 4); }},
          {"sharded",
           [map] {
             return map(ts::full({4, 3}, 3.0));
           }},
          {"large and sharded",
           [map] {
             return map(ts::full({4, 3000}, 3.0));
           }},
          {"row of sharded state",
           [map] {
             return map(ts::full({4, 1200}, 3.0))[2];
           }},
          {"a shard",
           [map] {
             return map(ts::full({4, 1200}, 3.0)).shards()[1].data;
           }},
          {"empty", [] {
             return ts::zeros({0, 3});
           }}};
}

// The message of the exception that f throws, without its first and last parts: function, line,
// advice.
template <class F>
std::string story(F f) {
  const std::string text = message<ts::TraceError>(f);
  const std::size_t from = text.find("the array "), to = text.find('\n');
  return from == std::string::npos || from > to ? text : text.substr(from, to - from);
}

}  // namespace

TEST(Donated, ArraysOfAnySizeCannotBeReadInAnyWay) {
  for (const Kind& kind : kinds()) {
    for (const auto& [name, read] : reads()) {
      if (kind.name == "empty" && name == "unreplicate") continue;  // it has no row to take
      Array x = kind.make();
      const std::string described = describe(x);
      (void)kTake(x);
      EXPECT_TRUE(x.is_deleted()) << kind.name;
      EXPECT_EQ(story([&] { read(x); }).substr(0, described.size() + 32),
                "the array " + described + " was donated to take (")
          << kind.name << ", " << name;
      EXPECT_EQ(to_string(x), "Array(" + described + " deleted)");
      EXPECT_EQ(x.dtype(), ts::f32);
      EXPECT_EQ(describe(x), described);
    }
  }
}

TEST(Donated, NumbersAreDeletedToo) {
  Array x(2.5);
  EXPECT_EQ(kTake(x).item<float>(), 3.5f);
  EXPECT_TRUE(x.is_deleted());
  EXPECT_THROW((void)x.item<float>(), ts::TraceError);
  EXPECT_THROW((void)(x + 1), ts::TraceError);
  EXPECT_THROW((void)+x, ts::TraceError);
  EXPECT_THROW(ts::jit([&](Array y) { return x + y; })(Array(1)), ts::TraceError);
}

TEST(Donated, ByMoveWhereNobodyElseHoldsIt) {
  auto f = ts::jit([](Array x) { return x + 1; });
  for (std::int64_t n : {1, 100, 5000}) {
    Array x = ts::full({n}, 2.0), copy = x;
    EXPECT_EQ(f(std::move(x))[0].item<float>(), 3);
    EXPECT_EQ(copy[0].item<float>(), 2);
    EXPECT_EQ(x[0].item<float>(), 2);  // NOLINT: a copy holds it, so it was not donated
    copy = Array();
    EXPECT_EQ(f(std::move(x))[0].item<float>(), 3);
    EXPECT_THROW((void)x[0], ts::TraceError);  // NOLINT
  }
}

// An array that shares memory with a donated one, or the result of a function that changes nothing,
// keeps its values.
TEST(Donated, OtherArraysKeepTheirValues) {
  ts::set_device_count(4);
  struct View {
    std::string name;
    std::function<Array(const Array&)> of;
  };
  const std::vector<View> views = {
      {"row", [](const Array& x) { return x[1]; }},
      {"last row", [](const Array& x) { return x[-1]; }},
      {"shard", [](const Array& x) { return x.shards()[0].data; }},
      {"concatenate", [](const Array& x) { return ts::concatenate({x}); }},
      {"reshape", [](const Array& x) { return x.reshape(x.shape()); }},
      {"flatten", [](const Array& x) { return x.flatten(); }},
      {"astype", [](const Array& x) { return x.astype(ts::f32); }},
      {"broadcast_to", [](const Array& x) { return ts::broadcast_to(x, x.shape()); }},
      {"transposed twice", [](const Array& x) { return x.T().T(); }},
      {"slice", [](const Array& x) { return x(ts::range(1, 3)); }},
      {"all of it", [](const Array& x) { return x(ts::all); }},
      {"device_put", [](const Array& x) { return ts::device_put(x, x.sharding()); }},
      {"device_put again",
       [](const Array& x) {
         return ts::device_put(ts::device_put(x, ts::Device{2}), ts::Device{2});
       }},
      {"device_get", [](const Array& x) { return ts::device_get(x); }},
      {"positive", [](const Array& x) { return +x; }},
      {"jit of the identity", [](const Array& x) { return ts::jit([](Array a) { return a; })(x); }},
      {"replicate", [](const Array& x) { return ts::replicate(x, 2); }},
      {"iteration",
       [](const Array& x) {
         Array last;
         for (const Array& row : x) last = row;
         return last;
       }},
  };
  auto mapped = ts::pmap([](Array v) { return v * 2; });
  for (std::int64_t n : {3, 2000})
    for (bool sharded : {false, true})
      for (const View& view : views) {
        const Array start = ts::arange(static_cast<float>(4 * n)).reshape(4, n);
        auto make = [&] { return sharded ? mapped(start) : start * 2; };
        const std::vector<float> all = f32s(start * 2), part = f32s(view.of(make()));
        Array x = make(), y = view.of(x);
        EXPECT_EQ(f32s(kTake(x)), f32s(start * 2 + 1)) << view.name;
        EXPECT_TRUE(x.is_deleted());
        EXPECT_EQ(f32s(y), part) << view.name << " of a donated array";
        x = make(), y = view.of(x);
        (void)kTake(y);
        EXPECT_TRUE(y.is_deleted());
        EXPECT_EQ(f32s(x), all) << "whose " << view.name << " was donated";
      }
}

TEST(Donated, ResultsThatAreEqualAreArraysOfTheirOwn) {
  auto twice = ts::jit([](Array x) {
    Array y = x + 1;
    return std::pair(y, y);
  });
  auto [a, b] = twice(ts::ones({2000}));
  (void)kTake(a);
  EXPECT_EQ(f32s(b), std::vector<float>(2000, 2));
}

// A pointer into an array's memory stays valid as long as the array, whether it is donated or not.
TEST(Donated, MemoryThatAHostReadPointsToIsLeftAlone) {
  Array x = ts::full({5000}, 2.0);
  const auto values = x.host<float>();
  Array y = kTake(x);
  EXPECT_EQ(f32s(y), std::vector<float>(5000, 3));
  EXPECT_EQ(std::count(values.begin(), values.end(), 2.0f), 5000);
}

TEST(Donated, MemoryBecomesTheResultsOrIsFree) {
  NEEDS_CPU(memory);
  const std::int64_t bytes = std::int64_t{1} << 20;
  auto sum = ts::jit([](Array x) { return ts::sum(x); }, {.donate = {0}});
  Array x = ts::ones({bytes / 4});
  (void)x.block_until_ready();
  std::int64_t live = ts::memory_stats(ts::Device{0}).live;
  Array y = kTake(x);
  (void)y.block_until_ready();
  EXPECT_EQ(ts::memory_stats(ts::Device{0}).live, live);
  Array s = sum(y);
  (void)s.block_until_ready();
  EXPECT_LE(ts::memory_stats(ts::Device{0}).live, live - bytes + 64) << "while y's handle lives";
}

// Memory is reused if the devices have the same shards, whatever the specs are: axes of one device
// shard nothing, neighbouring axes act like one, and a dimension that nothing shards is whole.
TEST(Donated, PartsThatAreTheSameByOtherSpecs) {
  ts::set_device_count(4);
  const std::int64_t rows = 64, columns = 512;
  const ts::Mesh line({{"x", 4}, {"y", 1}}), lone({{"x", 1}, {"y", 1}}),
      square({{"x", 2}, {"y", 2}, {"z", 1}});
  const auto both = [](const char* a, const char* b) {
    return ts::P(std::vector<std::string>{a, b});
  };
  const struct {
    ts::Mesh mesh;
    ts::PartitionSpec in, out;
    std::int64_t parts;  // the number of shards of an array
  } cases[] = {{line, ts::P("x"), ts::P("x", "y"), 4},
               {line, ts::P("x", "y"), ts::P("x"), 4},
               {line, both("x", "y"), both("y", "x"), 4},
               {line, ts::P("y", "x"), ts::P(ts::none, "x"), 4},
               {line, ts::P(), ts::P("y"), 1},
               {line, ts::P("y"), ts::P(), 1},
               {lone, ts::P("x", "y"), ts::P(), 1},
               {lone, ts::P(), ts::P("x"), 1},
               {square, ts::P("x", "y"), ts::P("x", {"y", "z"}), 4},
               {square, ts::P("x"), ts::P({"z", "x"}), 2},
               {square, ts::P(), ts::P(), 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(to_string(c.mesh) + " " + to_string(c.in) + " to " + to_string(c.out));
    auto step =
        ts::jit([](Array x) { return x * 2 + 1; },
                {.mesh = c.mesh, .in_shardings = c.in, .out_shardings = c.out, .donate = {0}});
    ts::PlanOptions no_advice;
    no_advice.alternatives = 0;
    const std::int64_t part = rows * columns * 4 / c.parts;
    EXPECT_EQ(step.lower(ts::abstract(ts::f32, {rows, columns})).plan(no_advice).donated_bytes,
              part);
    // The results of a step have memory of their own, on each device if devices are isolated.
    Array x = step(ts::device_put(ts::ones({rows, columns}), c.mesh, c.in));
    (void)x.block_until_ready();
    ts::reset_peak_memory();
    const std::int64_t before = ts::memory_stats(ts::Device{0}).live,
                       held = ts::physical_memory_stats().live;
    x = step(std::move(x));
    (void)x.block_until_ready();
    EXPECT_EQ(ts::memory_stats(ts::Device{0}).peak, before);
    EXPECT_LT(ts::physical_memory_stats().peak, held + part);
    EXPECT_EQ(f32s(x), std::vector<float>(static_cast<std::size_t>(rows * columns), 7));
  }
}

// A whole array of one device is not memory of all devices of a mesh, nor the reverse.
TEST(Donated, WholesOfOtherDevices) {
  NEEDS_CPU(memory);
  ts::set_device_count(4);
  const ts::Mesh mesh({{"x", 4}});
  auto spread = ts::jit([](Array x) { return x * 2; },
                        {.mesh = mesh, .out_shardings = ts::P(), .donate = {0}});
  Array x = ts::ones({4096}) + 1;
  (void)x.block_until_ready();
  const std::int64_t before = ts::memory_stats(ts::Device{3}).live;
  Array y = spread(std::move(x));
  (void)y.block_until_ready();
  EXPECT_EQ(ts::memory_stats(ts::Device{3}).live - before, 4096 * 4);
  EXPECT_EQ(f32s(y), std::vector<float>(4096, 4));
}

// An array that is passed twice is read through both arguments, and is donated.
TEST(Donated, ArgumentsThatStandTwice) {
  auto add = ts::jit([](Array a, Array b) { return a + b; }, {.donate = {0}});
  for (std::int64_t n : {2, 5000}) {
    Array x = ts::full({n}, 2.0);
    EXPECT_EQ(f32s(add(x, x)), std::vector<float>(static_cast<std::size_t>(n), 4));
    EXPECT_TRUE(x.is_deleted());
    auto both =
        ts::jit([](std::pair<Array, Array> p) { return p.first * p.second; }, {.donate = {0}});
    Array y = ts::full({n}, 3.0);
    EXPECT_EQ(f32s(both(std::pair(y, y))), std::vector<float>(static_cast<std::size_t>(n), 9));
    EXPECT_TRUE(y.is_deleted());
  }
}

TEST(Donated, CapturesSaySo) {
  Array w = ts::ones({3});
  auto f = ts::jit([&](Array x) { return x + w; });
  (void)f(Array(1));
  (void)kTake(w);
  const std::string text = message<ts::TraceError>([&] { (void)f(Array(1)); });
  EXPECT_NE(text.find("the array f32[3] was donated to take (donation_test.cc:"), text.npos)
      << text;
  EXPECT_NE(text.find("at: an array that the function captures"), text.npos) << text;
  EXPECT_THROW(ts::grad([&](Array x) { return ts::sum(x * w); })(ts::ones({3})), ts::TraceError);
}

// If two calls donate one array, one of them gets it, and the error of the other names it.
TEST(Donated, OfTwoThreadsOneWins) {
  auto f = ts::jit([](Array x) { return x * 2; }, {.donate = {0}, .name = "f"});
  auto g = ts::jit([](Array x) { return x * 3; }, {.donate = {0}, .name = "g"});
  for (int round = 0; round < 300; ++round) {
    const std::int64_t n = round % 3 == 0 ? 3 : round % 3 == 1 ? 2000 : 300000;
    Array x = ts::full({n}, 1.0);
    std::latch start(2);
    std::atomic<int> won{0}, wrong{0};
    auto call = [&](auto& function, float factor, const char* other) {
      start.arrive_and_wait();
      try {
        Array y = function(x);
        ++won;
        wrong += f32s(y) != std::vector<float>(static_cast<std::size_t>(n), factor);
      } catch (const ts::TraceError& e) {
        wrong += std::string(e.what()).find(std::string("donated to ") + other + " (") ==
                 std::string::npos;
      }
    };
    std::thread a([&] { call(f, 2, "g"); }), b([&] { call(g, 3, "f"); });
    a.join();
    b.join();
    EXPECT_EQ(won, 1) << n;
    EXPECT_EQ(wrong, 0) << n;
    EXPECT_TRUE(x.is_deleted());
  }
}

// A call that reads an array while another thread donates it gets its values or is refused.
TEST(Donated, WhileAnotherCallReads) {
  auto take = ts::jit([](Array x) { return x * 2; }, {.donate = {0}});
  auto read = ts::jit([](Array x) { return x + 1; });
  for (int round = 0; round < 300; ++round) {
    const std::int64_t n = round % 3 == 0 ? 3 : round % 3 == 1 ? 2000 : 300000;
    const auto count = static_cast<std::size_t>(n);
    Array x = ts::full({n}, 1.0);
    std::latch start(2);
    std::atomic<int> wrong{0};
    std::thread other([&] {
      start.arrive_and_wait();
      try {
        for (int k = 0; k < 3; ++k) {
          wrong += f32s(read(x)) != std::vector<float>(count, 2);
          wrong += f32s(x) != std::vector<float>(count, 1);
        }
      } catch (const ts::TraceError&) {
      }
    });
    start.arrive_and_wait();
    wrong += f32s(take(x)) != std::vector<float>(count, 2);
    other.join();
    EXPECT_EQ(wrong, 0) << n;
  }
}

// A call that fails returns the arrays that it has not overwritten: if there is not enough memory,
// if it fails half-way, and if it is queued.
TEST(Donated, AFailedCallGivesBack) {
  auto far = ts::jit([](Array x, Array y) { return x + y; }, {.donate = {0, 1}});
  ts::set_device_count(4);
  Array x = ts::device_put(ts::ones({5000}), ts::Device{1});
  Array y = ts::device_put(ts::ones({5000}), ts::Device{2});
  EXPECT_THROW((void)far(x, y), ts::ShardingError);
  EXPECT_EQ(f32s(x), std::vector<float>(5000, 1));
  EXPECT_EQ(f32s(y), std::vector<float>(5000, 1));

  auto bad = ts::jit([](Array a) { return a.reshape(7, 7); }, {.donate = {0}});
  EXPECT_THROW((void)bad(x), ts::ShapeError);
  EXPECT_FALSE(x.is_deleted());
}
