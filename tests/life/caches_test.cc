// Caches stay within their bounds, and are emptied on request.
#include "life/spawn.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdio>
#include <thread>

namespace ts = tessera;
using ts::Array;

namespace {

class Caches : public testing::Test {
 protected:
  void SetUp() override { ts::clear_caches(); }
  void TearDown() override { ts::set_cache_limit(before_); }

 private:
  const std::int64_t before_ = ts::cache_limit();
};

}  // namespace

// 10,000 with LIFE_PROGRAMS=10000.
TEST_F(Caches, ManyShapesAndValuesKeepMemoryBounded) {
  const char* n = std::getenv("LIFE_PROGRAMS");
  const life::Ended e = life::run({"many", n ? n : "600"}, {"TESSERA_CACHE=off"});
  ASSERT_EQ(e.code, 7) << e;
  long half = 0, growth = 0;
  ASSERT_EQ(std::sscanf(e.out.c_str(), "%ld %ld", &half, &growth), 2) << e;
  // Keeping all would take about 16 KB each, and twice that for reading an element. What is left
  // are the arrays, each 4 bytes larger than the one before, and the allocator's slack.
  const long programs = (n ? std::atol(n) : 600) / 2;
  EXPECT_LT(growth, 4096 + programs * 2) << "kilobytes, over " << programs << " programs";
}

TEST_F(Caches, ClearingLetsGoOfCapturedArrays) {
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = owner;
  alignas(64) static float memory[64];
  Array captured = Array::adopt(ts::f32, {64}, memory, std::move(owner));
  auto f = ts::jit([&captured](Array x) { return x + captured; });
  f(ts::ones({64})).block_until_ready();
  captured = ts::ones({64});
  EXPECT_FALSE(alive.expired());  // the program keeps it alive
  ts::clear_caches();
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(f(ts::ones({64})).to_vector<float>()[0], 2.0f);
}

// A program that captures an array of a trace is used by that trace only.
TEST_F(Caches, ProgramsThatCaptureTracedArraysAreNotKept) {
  Array current;
  auto f = ts::jit([&current](Array x) { return x + current; });
  auto trace_once = [&] {
    ts::eval_shape(
        [&](Array y) {
          current = y;
          return f(y * 2);
        },
        ts::ones({3}));
    current = Array();
  };
  for (int i = 0; i < 100; ++i) trace_once();
  const std::size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 400; ++i) trace_once();
  // Keeping all would take about 2 KB each.
  EXPECT_LT(::mallinfo2().uordblks, before + 400 * 200);
}

TEST_F(Caches, WhatWasEvictedIsMadeAgainAndIsRight) {
  ts::set_cache_limit(0);
  auto f = ts::jit([](Array x) { return ts::sum(ts::matmul(x, x)); });
  for (int round = 0; round < 3; ++round)
    for (std::int64_t n = 1; n < 6; ++n)
      EXPECT_EQ(f(ts::ones({n, n})).item<float>(), static_cast<float>(n * n * n));
  EXPECT_EQ(f.trace_count(), 15u);
  EXPECT_EQ(ts::cache_stats().bytes, 0);
  ts::set_cache_limit(std::int64_t{64} << 20);
  const std::size_t traces = f.trace_count();
  for (int round = 0; round < 3; ++round) f(ts::ones({2, 2})).block_until_ready();
  EXPECT_EQ(f.trace_count(), traces + 1);
  EXPECT_GT(ts::cache_stats().entries, 0);
}

TEST_F(Caches, TheLeastRecentlyUsedGoesFirst) {
  auto f = ts::jit([](Array x) { return x * 3; });
  f(ts::ones({100})).block_until_ready();
  const std::int64_t one = ts::cache_stats().bytes;
  ts::set_cache_limit(20 * one);
  for (std::int64_t n = 1; n < 60; ++n) {
    f(ts::ones({n})).block_until_ready();
    f(ts::ones({100})).block_until_ready();  // used all the time
  }
  EXPECT_EQ(f.trace_count(), 60u);
  f(ts::ones({1})).block_until_ready();
  EXPECT_EQ(f.trace_count(), 61u);
}

TEST_F(Caches, AProgramThatIsHeldLivesOn) {
  auto f = ts::jit([](Array x) { return ts::exp(x) * 0 + 5; });
  auto program = f.lower(ts::ones({7})).compile();
  ts::set_cache_limit(0);
  ts::clear_caches();
  EXPECT_EQ(program(ts::ones({7})).to_vector<float>()[6], 5.0f);
  EXPECT_NE(program.schedule(), "");
}

TEST_F(Caches, ClearingWhileOthersTraceCompileAndCompute) {
  auto f = ts::jit([](Array x) { return ts::sum(ts::matmul(x, ts::transpose(x))); });
  std::atomic<int> wrong{0}, running{3};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        const std::int64_t n = 1 + (i * 7 + t) % 9;
        wrong += f(ts::ones({n, 4})).item<float>() != static_cast<float>(n * n * 4);
        wrong += (ts::ones({n}) * 2)[n - 1].item<float>() != 2.0f;
      }
      --running;
    });
  while (running) ts::clear_caches();
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Caches, LimitsAreChecked) {
  try {
    ts::set_cache_limit(-1);
    FAIL();
  } catch (const ts::Error& e) {
    EXPECT_NE(std::string(e.what()).find("programs cannot take -1 bytes"), std::string::npos);
  }
}
