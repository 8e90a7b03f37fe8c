// Sizes that no machine can hold end in an error before anything is allocated.
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/data.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/gather_scatter.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/nn.h>
#include <tessera/ordering.h>
#include <tessera/pmap.h>
#include <tessera/random.h>
#include <tessera/reductions.h>
#include <tessera/sets.h>
#include <tessera/statistics.h>
#include <tessera/vmap.h>

#include "api/check.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace ts = tessera;
using api_test::message;
using ts::Array;

namespace {

using Made = std::function<void(std::int64_t)>;

// Every function that makes an array of a given size, for a size n.
std::vector<std::pair<std::string, Made>> makers() {
  const Array key = ts::random::key(0), x = ts::ones({3}), square = ts::ones({3, 3});
  using namespace ts::random;
  return {
      {"zeros", [](std::int64_t n) { ts::zeros({n}); }},
      {"zeros of three axes",
       [](std::int64_t n) {
         ts::zeros({2, n, 3});
       }},
      {"ones", [](std::int64_t n) { ts::ones({n}, ts::u8); }},
      {"full", [](std::int64_t n) { ts::full({n}, 0.5, ts::f64); }},
      {"arange", [](std::int64_t n) { ts::arange(static_cast<double>(n)); }},
      {"arange by steps", [](std::int64_t n) { ts::arange(0.0, 1.0, 1 / static_cast<double>(n)); }},
      {"arange downwards", [](std::int64_t n) { ts::arange(static_cast<double>(n), 0.0, -1.0); }},
      {"linspace", [](std::int64_t n) { ts::linspace(0, 1, n); }},
      {"eye", [](std::int64_t n) { ts::eye(n); }},
      {"eye of columns", [](std::int64_t n) { ts::eye(2, n); }},
      {"one_hot", [x](std::int64_t n) { ts::one_hot(x.astype(ts::i32), n); }},
      {"repeat", [x](std::int64_t n) { ts::repeat(x, n); }},
      {"tile", [x](std::int64_t n) { ts::tile(x, {n}); }},
      {"tile of axes",
       [x](std::int64_t n) {
         ts::tile(x, {n, n, n});
       }},
      {"broadcast_to",
       [x](std::int64_t n) {
         ts::broadcast_to(x, {n, 3});
       }},
      {"replicate", [x](std::int64_t n) { ts::replicate(x, n); }},
      {"pad",
       [x](std::int64_t n) {
         ts::pad(x, {{n, 0}}, 0);
       }},
      {"pad both",
       [x](std::int64_t n) {
         ts::pad(x, {{n, n}}, 0);
       }},
      {"random::split", [key](std::int64_t n) { ts::random::split(key, n); }},
      {"random::bits", [key](std::int64_t n) { bits(key, {n}); }},
      {"random::uniform", [key](std::int64_t n) { uniform(key, {n}); }},
      {"random::normal",
       [key](std::int64_t n) {
         normal(key, {n, 2});
       }},
      {"random::normal of halves", [key](std::int64_t n) { normal(key, {n}, ts::f16); }},
      {"random::randint", [key](std::int64_t n) { randint(key, {n}, 0, 9); }},
      {"random::permutation", [key](std::int64_t n) { permutation(key, n); }},
      {"random::bernoulli", [key](std::int64_t n) { bernoulli(key, 0.5, ts::Shape{n}); }},
      {"random::gumbel", [key](std::int64_t n) { gumbel(key, {n}); }},
      {"random::truncated_normal", [key](std::int64_t n) { truncated_normal(key, -1, 1, {n}); }},
      {"random::exponential", [key](std::int64_t n) { exponential(key, {n}); }},
      {"random::choice", [key](std::int64_t n) { choice(key, 5, {n}); }},
      {"random::choice of many", [key](std::int64_t n) { choice(key, n, {2}, false); }},
      {"random::choice by weight", [key, x](std::int64_t n) { choice(key, 3, {n}, true, x); }},
      {"nn::linear", [key](std::int64_t n) { ts::nn::linear(key, n, 2); }},
      {"nn::embedding", [key](std::int64_t n) { ts::nn::embedding(key, n, 2); }},
      {"data::batches",
       [](std::int64_t n) { ts::data::batches(3, n, {}, ts::data::LastBatch::pad); }},
  };
}

}  // namespace

// Sizes range from slightly more than the available memory to more than can be counted.
TEST(Sizes, ThatNoMachineHoldsAreErrors) {
  NEEDS_CPU(sizes);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const auto& [name, make] : makers())
    for (const std::int64_t n : {ts::memory_limit() + 1, std::int64_t{1} << 45,
                                 std::int64_t{1000000000000000000}, std::int64_t{1} << 62, most}) {
      const std::int64_t before = ts::physical_memory_stats().live;
      const std::string text = message<ts::Error>([&] { make(n); });
      // The message has the bytes and the available memory, or a size too large to count in bytes.
      const bool bytes = text.find("bytes") != text.npos && text.find("iB") != text.npos;
      EXPECT_TRUE(bytes || text.find("2^50") != text.npos || text.find("2^63") != text.npos)
          << name << " of " << n << ": " << text;
      EXPECT_EQ(ts::physical_memory_stats().live, before);
    }
}

TEST(Sizes, ThatAreNegativeAreErrors) {
  for (const auto& [name, make] : makers())
    for (const std::int64_t n : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
      if (name == "arange" || name == "arange by steps" || name == "arange downwards" ||
          name == "pad" || name == "pad both")
        continue;
      EXPECT_THROW(make(n), ts::Error) << name << " of " << n;
    }
  EXPECT_EQ(ts::arange(-1e300).size(), 0);
  EXPECT_EQ(ts::pad(ts::ones({3}), {{-1, -1}}, 0).size(), 1);
  EXPECT_THROW(ts::pad(ts::ones({3}), {{INT64_MIN, -1}}, 0), ts::ShapeError);
  EXPECT_THROW(ts::pad(ts::ones({3}), {{INT64_MAX, INT64_MIN}}, 0), ts::ShapeError);
}

TEST(Sizes, InTracesAreErrorsToo) {
  NEEDS_CPU(sizes);
  const std::int64_t n = std::int64_t{1} << 49;
  auto f = ts::jit([&](Array x) { return ts::broadcast_to(x, {n, 3}) + 1; });
  EXPECT_THROW(f(ts::ones({3})), ts::Error);
  auto sorted = ts::jit([&](Array x) { return ts::sort(ts::broadcast_to(x, {n / 64, 3}), 0); });
  EXPECT_THROW(sorted(ts::ones({3})), ts::Error);
  EXPECT_THROW(ts::vmap([&](Array x) { return ts::repeat(x, n) + x; })(ts::ones({4, 1})),
               ts::Error);
  EXPECT_THROW(ts::zeros({1 << 30, 1}) + ts::zeros({1 << 30}), ts::Error);
  EXPECT_THROW(ts::outer(ts::zeros({1 << 24}), ts::zeros({1 << 24})), ts::Error);
}

// Positions along an axis too long for 32 bits are 64-bit numbers.
TEST(Sizes, OfLongAxesHavePositionsOf64Bits) {
  const std::int64_t n = std::int64_t{3} << 30;
  const auto of = [](std::int64_t n, auto f) {
    return ts::eval_shape(f, ts::abstract(ts::i8, {n})).dtype();
  };
  const Array key = ts::random::key(0);
  for (const auto& [length, dtype] : {std::pair{n, ts::i64}, {std::int64_t{1} << 30, ts::i32}}) {
    EXPECT_EQ(of(length, [](Array x) { return ts::argmax(x); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::argmin(x, {.axis = 0}); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::argsort(x); }), dtype);
    EXPECT_EQ(of(length, [&](Array x) { return ts::random::permutation(key, x.size()); }), dtype);
    EXPECT_EQ(of(length, [&](Array x) { return ts::random::choice(key, x.size(), {3}); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::searchsorted(x, x(ts::range(0, 3))); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::digitize(x(ts::range(0, 3)), x); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::lexsort({x, x}); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::count_nonzero(x); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::bincount(x, {.length = 5}); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::flatnonzero(x, {.size = 2}); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::argwhere(x, {.size = 2}); }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::nonzero(x, {.size = 2})[0]; }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::unique_all(x, {.size = 2}).indices; }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::unique_all(x, {.size = 2}).counts; }), dtype);
    EXPECT_EQ(of(length, [](Array x) { return ts::unique_all(x, {.size = 2}).inverse_indices; }),
              dtype);
  }
  // Positions are counted in 64 bits although no result has them.
  for (const auto& program :
       {ts::jit([](Array x) { return ts::quantile(x, 0.5); })
            .lower(ts::abstract(ts::f32, {n}))
            .ir(),
        ts::jit([](Array x) { return ts::place(x, x > 0, ts::ones({2})); })
            .lower(ts::abstract(ts::f32, {n}))
            .ir(),
        // The sum of two positions passes 2^31 before a position does.
        ts::jit([](Array x) { return ts::searchsorted(x, x(ts::range(0, 3))); })
            .lower(ts::abstract(ts::f32, {(std::int64_t{1} << 30) + 1}))
            .ir()})
    EXPECT_NE(program.find("i64["), std::string::npos) << program;
  const std::vector<std::int64_t> drawn =
      ts::random::choice(key, n, {1000}).to_vector<std::int64_t>();
  EXPECT_GE(*std::min_element(drawn.begin(), drawn.end()), 0);
  EXPECT_LT(*std::max_element(drawn.begin(), drawn.end()), n);
  EXPECT_GT(*std::max_element(drawn.begin(), drawn.end()), std::int64_t{1} << 31);
  // Along the other axis, and if only the sum of two positions is too large.
  EXPECT_EQ(ts::eval_shape([](Array x) { return ts::argsort(x, 1); }, ts::abstract(ts::i8, {n, 2}))
                .dtype(),
            ts::i32);
  EXPECT_NE(ts::jit([](Array x) { return ts::tril(x); })
                .lower(ts::abstract(ts::i8, {std::int64_t{1} << 30, 2}))
                .ir()
                .find("i64[1073741824,2]"),
            std::string::npos);
}

TEST(Sizes, ThatDoNotCountAreErrors) {
  NEEDS_CPU(sizes);
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THROW((void)ts::abstract(ts::f32, {huge, huge}).size(), ts::ShapeError);
  EXPECT_THROW((void)ts::Shape({huge, huge}).count(), ts::ShapeError);
  EXPECT_EQ(ts::Shape({huge, huge, 0}).count(), 0);
  EXPECT_EQ(ts::zeros({huge, huge, 0}).size(), 0);
  EXPECT_EQ(ts::Shape({huge, 1 << 10}).count(), std::int64_t{1} << 50);
  float one = 1;
  EXPECT_THROW(Array::from_bytes(ts::f32, {huge, huge}, &one), ts::ShapeError);
  EXPECT_THROW(Array::adopt(ts::f32, {huge, huge}, &one, nullptr), ts::ShapeError);
}
