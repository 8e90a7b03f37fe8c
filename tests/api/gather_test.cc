// Operations that are gathered: the values are those of operations that run at once, a loop
// compiles nothing after its first turns, and errors are those of the call, or reach whoever reads.
#include <tessera/tessera.h>

#include "message.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ts = tessera;
using test::message;
using ts::Array;

namespace {

class Gather : public testing::Test {
 protected:
  void SetUp() override { ts::set_eager(ts::Eager::gathered); }
  void TearDown() override { ts::set_eager(before_); }

  static std::int64_t programs() { return ts::cache_stats().entries; }
  /// How many programs f adds to the cache.
  template <class F>
  static std::int64_t compiled(F f) {
    const std::int64_t before = programs();
    f();
    return programs() - before;
  }
  /// The result of f if its operations run at once.
  template <class F>
  static auto at_once(F f) {
    ts::set_eager(ts::Eager::at_once);
    auto result = ts::block_until_ready(f());
    ts::set_eager(ts::Eager::gathered);
    return result;
  }
  /// The whole text of what f throws, with the line.
  template <class F>
  static std::string text_of(F f) {
    try {
      f();
    } catch (const ts::Error& e) {
      return e.what();
    }
    return "nothing thrown";
  }

 private:
  const ts::Eager before_ = ts::eager();
};

void expect_same(const Array& got, const Array& want) {
  EXPECT_EQ(got.dtype(), want.dtype());
  EXPECT_EQ(got.weak_type(), want.weak_type());
  EXPECT_EQ(got.shape(), want.shape());
  EXPECT_EQ(got.sharding(), want.sharding());
  EXPECT_TRUE(ts::array_equal(got, want).item<bool>()) << got << "\n" << want;
}

// A body of 72 different operations: operations are known by their name and line.
const std::vector<std::function<Array(Array)>>& steps() {
  static const auto all = [] {
    std::vector<std::function<Array(Array)>> made;
    made.push_back([](Array x) { return -(x * 3 - 1); });
    made.push_back([](Array x) { return -(x * 3 - 2); });
    made.push_back([](Array x) { return -(x * 3 - 3); });
    made.push_back([](Array x) { return -(x * 3 - 4); });
    made.push_back([](Array x) { return -(x * 3 - 5); });
    made.push_back([](Array x) { return -(x * 3 - 6); });
    made.push_back([](Array x) { return -(x * 3 - 7); });
    made.push_back([](Array x) { return -(x * 3 - 8); });
    made.push_back([](Array x) { return -(x * 3 - 9); });
    made.push_back([](Array x) { return -(x * 3 - 8); });
    made.push_back([](Array x) { return -(x * 3 - 7); });
    made.push_back([](Array x) { return -(x * 3 - 6); });
    made.push_back([](Array x) { return -(x * 3 - 5); });
    made.push_back([](Array x) { return -(x * 3 - 4); });
    made.push_back([](Array x) { return -(x * 3 - 3); });
    made.push_back([](Array x) { return -(x * 3 - 2); });
    made.push_back([](Array x) { return -(x * 3 - 1); });
    made.push_back([](Array x) { return -(x * 3 - 2); });
    made.push_back([](Array x) { return -(x * 3 - 3); });
    made.push_back([](Array x) { return -(x * 3 - 4); });
    made.push_back([](Array x) { return -(x * 3 - 5); });
    made.push_back([](Array x) { return -(x * 3 - 6); });
    made.push_back([](Array x) { return -(x * 3 - 7); });
    made.push_back([](Array x) { return -(x * 3 - 8); });
    return made;
  }();
  return all;
}
// `count` of these steps, and the same on a number, modulo 2^32.
Array body(Array x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) x = steps()[i](x);
  return x;
}
std::uint32_t body_of_number(std::uint32_t x, std::size_t count) {
  const std::uint32_t last[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6,
                                5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8};
  for (std::size_t i = 0; i < count; ++i) x = 0u - (x * 3 - last[i]);
  return x;
}

}  // namespace

TEST_F(Gather, AChainIsOneProgram) {
  NEEDS_CPU(same_bits);
  const Array x = ts::block_until_ready(ts::arange(6.f));
  const auto f = [&](float k) {
    Array y = x;
    for (int i = 0; i < 10; ++i) y = ts::tanh(y * k) + x;
    return y;
  };
  const Array want = at_once([&] { return f(0.5f); }), other = at_once([&] { return f(-3); });
  Array y;
  EXPECT_EQ(compiled([&] { y = f(0.5f); }), 0);
  EXPECT_EQ(compiled([&] { y.block_until_ready(); }), 1);
  expect_same(y, want);
  // Numbers are arguments.
  EXPECT_EQ(compiled([&] { y = f(-3).block_until_ready(); }), 0);
  expect_same(y, other);
}

TEST_F(Gather, ReadingInAnyWayRunsTheChain) {
  const Array x = ts::block_until_ready(ts::arange(3.f));
  EXPECT_EQ((x + 1).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ((x * 2)[2].item<float>(), 4);
  EXPECT_TRUE(bool(ts::all(x < 3)));
  std::ostringstream text;
  text << x - 1;
  EXPECT_EQ(text.str(), "[-1.  0.  1.]");
  EXPECT_EQ(ts::device_get(x * 3).host<float>()[1], 3);
  EXPECT_EQ(ts::jit([](Array a) { return a + 1; })(x * 2).to_vector<float>(),
            (std::vector<float>{1, 3, 5}));
  const Array captured = x + 5;
  EXPECT_EQ(ts::jit([&](Array a) { return a + captured; })(x).to_vector<float>(),
            (std::vector<float>{5, 7, 9}));
  EXPECT_EQ(ts::grad([&](Array a) { return ts::sum(a * captured); })(x).to_vector<float>(),
            (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(ts::vmap([&](Array a) { return a * 2; })(captured).to_vector<float>(),
            (std::vector<float>{10, 12, 14}));
  const auto [last, all] = ts::scan(
      [](Array carry, Array row) { return std::pair(carry + row, carry); }, x[0], captured);
  EXPECT_EQ(last.item<float>(), 18);
  EXPECT_EQ(all.to_vector<float>(), (std::vector<float>{0, 5, 11}));
  const Array copy = (x + 2).copy();
  EXPECT_EQ(copy.to_vector<float>(), (std::vector<float>{2, 3, 4}));
  const Array later = x + 3;
  while (!later.is_ready()) std::this_thread::yield();
  EXPECT_EQ(later.shards()[0].data.to_vector<float>(), (std::vector<float>{3, 4, 5}));
}

TEST_F(Gather, AskingForThePlaceComputesNothing) {
  const Array x = ts::block_until_ready(ts::device_put(ts::arange(3.f), ts::devices()[0]));
  const Array free = ts::block_until_ready(ts::ones({3}));
  const auto f = [&] { return std::vector{x + free, free * 2, free * 3 + x, ts::zeros({3})}; };
  const std::vector<Array> want = at_once(f);
  std::vector<Array> got;
  EXPECT_EQ(compiled([&] {
              got = f();
              for (std::size_t i = 0; i < got.size(); ++i)
                EXPECT_EQ(got[i].sharding(), want[i].sharding()) << i;
            }),
            0);
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_same(got[i], want[i]);
    // Whether it is committed shows where it meets another array.
    EXPECT_EQ((got[i] + 1).sharding(), at_once([&] { return want[i] + 1; }).sharding()) << i;
  }
}

TEST_F(Gather, UnchangedOperandsStayInTheChain) {
  const Array x = ts::block_until_ready(ts::arange(4.f));
  Array y, z;
  EXPECT_EQ(compiled([&] {
              y = (x + 1).astype(ts::f32).reshape({4});
              z = y.reshape({4}) * 2;
            }),
            0);
  EXPECT_EQ(compiled([&] {
              EXPECT_EQ(z.to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
            }),
            1);
  EXPECT_EQ(compiled([&] {
              EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
            }),
            0);
  // Donating one of the two leaves the other intact.
  const Array same = y.reshape({4});
  (void)ts::jit([](Array a) { return a * 2; }, {.donate = {0}})(y);
  EXPECT_TRUE(y.is_deleted());
  EXPECT_EQ(same.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(Gather, WhatNobodyHoldsIsNotComputed) {
  NEEDS_CPU(schedules);
  const Array a = ts::block_until_ready(ts::ones({40, 40}));
  const ts::WorkCounter counter;
  Array dropped = ts::dot(a, a), needed = ts::dot(a, a + 1);
  Array sum = ts::sum(needed);
  dropped = needed = Array();
  EXPECT_EQ(sum.item<float>(), 40 * 40 * 80);
  // One product and one sum, not two.
  const double product = 2.0 * 40 * 40 * 40;
  EXPECT_GE(counter.total().flops, product);
  EXPECT_LT(counter.total().flops, 1.5 * product);
}

TEST_F(Gather, WhatNobodyHoldsKeepsNoMemory) {
  struct alignas(64) Memory {
    float values[16] = {1, 2, 3};
  };
  auto memory = std::make_shared<Memory>();
  const std::weak_ptr<Memory> alive = memory;
  float* const values = memory->values;
  {
    Array x = Array::adopt(ts::f32, {16}, values, std::move(memory));
    Array y = x + 1, z = y * 2;
    x = Array();
    y = Array();
    if (!test::on_another_platform()) EXPECT_FALSE(alive.expired()) << "z needs it";
    EXPECT_EQ(compiled([&] { z = Array(); }), 0);
  }
  EXPECT_TRUE(alive.expired());
}

TEST_F(Gather, AChainThatKeepsMuchRunsBeforeItIsRead) {
  NEEDS_CPU(memory);
  const std::int64_t n = std::int64_t{20} << 20;  // 80 MB
  Array sum = ts::block_until_ready(ts::zeros({}));
  const std::int64_t before = ts::physical_memory_stats().live;
  for (int i = 0; i < 6; ++i) {
    const Array x = at_once([&] { return ts::full({n}, static_cast<float>(i)); });
    sum = sum + x[n - 1];
  }
  // The chain ran when it kept more than 256 MB, which are four of the six.
  EXPECT_LE(ts::physical_memory_stats().live - before, 3 * 4 * n);
  EXPECT_EQ(sum.item<float>(), 15);
}

TEST_F(Gather, LongChainsEndInBetween) {
  const Array x = ts::block_until_ready(ts::arange(5));
  Array y = x;
  const std::int64_t before = programs();
  for (int i = 0; i < 1000; ++i) y = y + i;
  EXPECT_GT(programs(), before) << "nobody has read anything";
  EXPECT_EQ(y.to_vector<int>(), (std::vector<int>{499500, 499501, 499502, 499503, 499504}));
  // The second loop has the chains of the first.
  EXPECT_EQ(compiled([&] {
              y = x;
              for (int i = 0; i < 1000; ++i) y = y + 2 * i;
              y.block_until_ready();
            }),
            0)
      << "2 * i is a number of C++";
  EXPECT_EQ(y[0].item<int>(), 999000);
}

TEST_F(Gather, MuchWorkBeginsAtOnce) {
  const Array a = ts::block_until_ready(ts::ones({1800, 1800}));
  Array product;
  EXPECT_EQ(compiled([&] { product = ts::dot(a + 1, a); }), 1);
  EXPECT_EQ(product.to_vector<float>()[1800 * 7 + 9], 3600);
}

TEST_F(Gather, LoopsOfAnyLengthCompileNothingAfterTheirFirstTurns) {
  for (const std::size_t count : std::vector<std::size_t>{1, 2, 5, 7, 11, 13, 16, 21, 22, 24}) {
    SCOPED_TRACE(count);
    Array x = ts::block_until_ready(ts::ones({3}, ts::i32));
    std::uint32_t want = 1;
    const auto turns = [&](int n) {
      for (int i = 0; i < n; ++i) {
        x = body(x, count);
        want = body_of_number(want, count);
      }
    };
    EXPECT_LE(compiled([&] { turns(70); }), 3);
    EXPECT_EQ(compiled([&] { turns(70); }), 0);
    EXPECT_EQ(x[0].item<int>(), static_cast<int>(want));
  }
}

TEST_F(Gather, PositionsBecomeArguments) {
  const Array table = ts::block_until_ready(ts::reshape(ts::arange(400), {100, 4}));
  const auto turn = [&](Array sum, std::int64_t i) {
    const Array row = table[i], block = table(ts::range(i, i + 2), ts::range(1, 3));
    sum = sum.at(i % 4).add(row[0] + ts::sum(block));
    return sum;
  };
  Array sum = ts::block_until_ready(ts::zeros({4}, ts::i32));
  std::vector<int> want(4);
  const auto turns = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      sum = turn(sum, i);
      const int row = static_cast<int>(4 * i);
      want[static_cast<std::size_t>(i % 4)] += row + (row + 1) + (row + 2) + (row + 5) + (row + 6);
      EXPECT_EQ(sum[0].item<int>(), want[0]);
    }
  };
  turns(0, 3);
  EXPECT_EQ(compiled([&] { turns(3, 98); }), 0);
  EXPECT_EQ(sum.to_vector<int>(), want);
}

TEST_F(Gather, ATrainingLoopComesToRest) {
  NEEDS_CPU(same_bits);
  const Array x = ts::random::normal(ts::random::key(1), {32, 4}),
              y = ts::dot(x, ts::arange(4.f)) + 1;
  struct Model {
    Array w, b;
  };
  const auto train = [&](int n) {
    Model m{ts::zeros({4}), ts::zeros({})};
    float loss = 0;
    for (int i = 0; i < n; ++i) {
      const Array error = ts::dot(x, m.w) + m.b - y;
      m.w = m.w - 0.1 / (1 + i) * ts::dot(error, x) / 32;
      m.b = m.b - 0.1 / (1 + i) * ts::mean(error);
      if (i % 5 == 4) loss = ts::mean(ts::square(error)).item<float>();
    }
    (void)loss;
    return std::vector{m.w, m.b};
  };
  const std::vector<Array> want = at_once([&] { return train(20); });
  std::vector<Array> got = ts::block_until_ready(train(20));
  for (std::size_t i = 0; i < 2; ++i) expect_same(got[i], want[i]);
  // Its chains are known by the operations with which chains of the first run began.
  (void)ts::block_until_ready(train(20));
  EXPECT_EQ(compiled([&] { got = ts::block_until_ready(train(20)); }), 0);
}

// Mistakes are found by the call, with the line of the user.
TEST_F(Gather, MistakesAreErrorsOfTheCall) {
  const Array x = ts::block_until_ready(ts::ones({2})), y = ts::block_until_ready(ts::ones({3}));
  const std::vector<std::function<void()>> mistakes{
      [&] { (void)(x + y); },
      [&] { (void)ts::dot(x, y); },
      [&] { (void)ts::reshape(x * 2, {5}); },
      [&] { (void)(x + Array()); },
      [&] { (void)(x.astype(ts::i32) << 3.5); },
      [&] { (void)ts::exp(ts::abstract(ts::f32, {2})); },
      [&] { (void)(x.astype(ts::DType::uint8) + 300); },
      [&] { (void)(x * 2)[7]; },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    ts::set_eager(ts::Eager::at_once);
    const std::string want = text_of(mistakes[i]);
    ts::set_eager(ts::Eager::gathered);
    EXPECT_NE(want, "nothing thrown") << i;
    EXPECT_EQ(text_of(mistakes[i]), want) << i;
  }
  if (ts::device_count() < 2) return;
  const Array here = ts::device_put(x, ts::devices()[0]),
              there = ts::device_put(x, ts::devices()[1]);
  const auto apart = [&] { (void)(here + there); };
  ts::set_eager(ts::Eager::at_once);
  const std::string want = text_of(apart);
  ts::set_eager(ts::Eager::gathered);
  EXPECT_EQ(text_of(apart), want);
}

TEST_F(Gather, AMistakeInTheMiddleChangesNothing) {
  const Array x = ts::block_until_ready(ts::arange(3.f));
  Array y = x + 1;
  EXPECT_EQ(compiled([&] {
              EXPECT_THROW(y + ts::array({1.f, 2.f}), ts::ShapeError);
              EXPECT_THROW(ts::dot(y, x.at(9).get()), ts::ShapeError);
              y = y * 2;
            }),
            0);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

// Errors of running reach whoever reads, each time, and what comes later is not affected.
TEST_F(Gather, ErrorsOfRunningReachTheReader) {
  NEEDS_CPU(memory);
  const Array x = ts::block_until_ready(ts::arange(3.f));
  const Array small = x + 1, large = ts::broadcast_to(small[0], {ts::memory_limit()}) + 1;
  EXPECT_NE(text_of([&] { large.block_until_ready(); }).find("\n  from: gather_test.cc:"),
            std::string::npos);
  const std::string text = message<ts::Error>([&] { large.block_until_ready(); });
  EXPECT_NE(text.find("bytes"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("add, index, broadcast_to and 1 more: ")) << text;
  EXPECT_EQ(message<ts::Error>([&] { (void)large[0].item<float>(); }), text);
  EXPECT_EQ(message<ts::Error>([&] { (void)small.to_vector<float>(); }), text);
  EXPECT_TRUE(small.is_ready());
  EXPECT_EQ((x + 2).to_vector<float>(), (std::vector<float>{2, 3, 4}));
}

TEST_F(Gather, DonatedArrays) {
  const auto take = ts::jit([](Array a) { return a + 1; }, {.donate = {0}, .name = "take"});
  Array x = ts::block_until_ready(ts::arange(2000.f));
  const Array before = x * 2;
  const Array y = take(x);
  EXPECT_TRUE(x.is_deleted());
  EXPECT_EQ(before[3].item<float>(), 6) << "it was called before";
  EXPECT_EQ(y[3].item<float>(), 4);
  EXPECT_TRUE(message<ts::TraceError>([&] {
                (void)(x * 2);
              }).starts_with("multiply: the array f32[2000] was donated to take"));
  // Results of a chain can be donated as well.
  Array z = y * 2;
  const Array w = take(std::move(z));
  EXPECT_EQ(w[3].item<float>(), 9);
  // Another thread's chain keeps what it needs.
  Array shared = ts::block_until_ready(ts::arange(2000.f)), doubled;
  std::thread([&] { doubled = shared * 2; }).join();
  (void)take(shared);
  EXPECT_EQ(doubled[5].item<float>(), 10);
}

TEST_F(Gather, MemoryOfDonatedArraysIsReused) {
  NEEDS_CPU(in_place);
  const auto take = ts::jit([](Array a) { return a + 1; }, {.donate = {0}});
  for (int round = 0; round < 2; ++round) {
    Array x = ts::block_until_ready(ts::arange(5000.f));
    const Array sum = ts::sum(x);  // not computed yet
    x = ts::block_until_ready(x * 2);
    const Array other = ts::max(x);  // neither
    const std::int64_t live = ts::physical_memory_stats().live;
    ts::reset_peak_memory();
    x = take(std::move(x)).block_until_ready();
    EXPECT_LT(ts::physical_memory_stats().peak, live + 16000) << "an array has 20000 bytes";
    EXPECT_EQ(x[4999].item<float>(), 2 * 4999 + 1);
    EXPECT_EQ(other.item<float>(), 2 * 4999);
    EXPECT_EQ(sum.item<float>(), 4999 * 2500.f);
  }
}

TEST_F(Gather, DevicesOfTheOperations) {
  if (ts::device_count() < 2) GTEST_SKIP() << "there is one device";
  const std::vector<ts::Device> devices = ts::devices();
  Array y;
  {
    const ts::DefaultDevice chosen(devices[1]);
    y = ts::zeros({3}) + 1;
  }
  const Array z = ts::ones({3}) * 2;  // on the default device again
  const Array there = ts::device_put(ts::arange(3.f), devices[1]);
  const Array sum = there + 1, both = sum + z;
  EXPECT_EQ(y.shards()[0].device, devices[1]);
  EXPECT_EQ(z.shards()[0].device, ts::default_device());
  EXPECT_EQ(both.shards()[0].device, devices[1]);
  EXPECT_EQ(both.to_vector<float>(), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 1, 1}));
}

TEST_F(Gather, CallsOfTheHostRunAtOnce) {
  const Array x = ts::block_until_ready(ts::arange(3.f));
  std::string said;
  const Array y = x + 1;
  const ts::debug::PrintHandler before =
      ts::debug::set_print_handler([&](const ts::debug::Printed& p) { said += p.text; });
  ts::debug::print("y = {}", y);
  ts::effects_barrier();
  ts::debug::set_print_handler(before);
  EXPECT_EQ(said, "y = [1. 2. 3.]");
}

TEST(EagerSetting, IsByPlatformUnlessItIsSet) {
  const ts::Eager before = ts::eager();
  ts::set_eager(ts::Eager::at_once);
  EXPECT_EQ(ts::eager(), ts::Eager::at_once);
  ts::set_eager(ts::Eager::by_platform);
  EXPECT_EQ(ts::eager(), ts::Eager::by_platform);
  if (!test::on_another_platform()) {
    // On the CPU, operations run at once then.
    const std::int64_t programs = ts::cache_stats().entries;
    const Array y = ts::arange(3.f) + ts::ones({17, 3});
    EXPECT_GT(ts::cache_stats().entries, programs);
  }
  ts::set_eager(before);
}
