// Graphs of up to six operations: the search finds the best of all choices, each of which jit
// plans.
#include "every_choice.h"

#include <gtest/gtest.h>

namespace {

namespace ts = tessera;
using ts::Array;

using every_choice::Best;
using every_choice::brute_force;
using every_choice::kSame;
using every_choice::speeds;

template <class F, class... A>
void expect_best(const char* name, const std::vector<int>& carried, F f, A... args) {
  SCOPED_TRACE(name);
  for (const ts::Mesh& mesh :
       {ts::Mesh::abstract({{"x", 2}}), ts::Mesh::abstract({{"x", 2}, {"y", 2}}),
        ts::Mesh::abstract({{"x", 4}, {"y", 2}})}) {
    SCOPED_TRACE(to_string(mesh));
    const Best best = brute_force(mesh, carried, f, args...);
    ts::AutoshardOptions options;
    options.mesh = mesh;
    options.plan = speeds();
    options.evaluations = 20000;
    const ts::AutoShardings found = ts::autoshard(f, options)(args...);
    EXPECT_TRUE(found.exhaustive);
    EXPECT_NEAR(found.seconds, best.seconds, kSame * best.seconds);
    EXPECT_EQ(found.choices, best.choices);
    EXPECT_EQ(found.evaluations, static_cast<int>(found.choices));
    const double made = ts::jit(f, found.options()).lower(args...).plan(speeds()).seconds();
    EXPECT_NEAR(made, best.seconds, kSame * best.seconds) << to_string(found);

    // If not all of this many choices may be judged, the descent must still find the best one.
    if (found.choices > 8) {
      options.evaluations = static_cast<int>(found.choices) - 1;
      const ts::AutoShardings walked = ts::autoshard(f, options)(args...);
      EXPECT_FALSE(walked.exhaustive);
      EXPECT_NEAR(walked.seconds, best.seconds, kSame * best.seconds) << to_string(walked);
    }
  }
}

Array f32(const ts::Shape& shape) { return ts::abstract(ts::f32, shape); }

TEST(SmallGraphs, Product) {
  expect_best(
      "long rows", {}, [](Array a, Array b) { return ts::dot(a, b); }, f32({4096, 64}),
      f32({64, 64}));
  expect_best(
      "long contraction", {}, [](Array a, Array b) { return ts::dot(a, b); }, f32({64, 8192}),
      f32({8192, 64}));
}

TEST(SmallGraphs, Elementwise) {
  expect_best(
      "a row for all", {}, [](Array a, Array row) { return ts::tanh(a * row) + row; },
      f32({256, 512}), f32({512}));
  expect_best(
      "odd sizes", {}, [](Array a, Array b) { return a * b + a; }, f32({6, 35}), f32({6, 35}));
}

TEST(SmallGraphs, Reduction) {
  expect_best(
      "sum of squares", {}, [](Array a) { return ts::sum(ts::square(a)); }, f32({128, 64, 16}));
  expect_best(
      "rows less their mean", {}, [](Array a) { return a - ts::mean(a, 1, true); },
      f32({64, 2048}));
}

TEST(SmallGraphs, TwoLayers) {
  expect_best(
      "wide", {},
      [](Array x, Array w1, Array w2) { return ts::dot(ts::maximum(ts::dot(x, w1), 0), w2); },
      f32({64, 64}), f32({64, 2048}), f32({2048, 64}));
}

TEST(SmallGraphs, TransposeAndReshape) {
  expect_best(
      "transposed", {}, [](Array a, Array b) { return ts::transpose(a) + b; }, f32({64, 256}),
      f32({256, 64}));
  expect_best(
      "merged", {}, [](Array a, Array w) { return ts::dot(a.reshape(64, 64), w); },
      f32({16, 4, 64}), f32({64, 32}));
}

TEST(SmallGraphs, StateLiesAsItCame) {
  expect_best(
      "a step", {0, -1},
      [](Array w, Array x) {
        const Array y = ts::dot(x, w);
        return std::pair(w - 0.1f * ts::dot(ts::transpose(x), y), ts::sum(y));
      },
      f32({64, 128}), f32({512, 64}));
}

TEST(SmallGraphs, Loop) {
  expect_best(
      "turns", {},
      [](Array x, Array ws) {
        return ts::scan([](Array c, Array w) { return std::pair(ts::dot(c, w), Array()); }, x, ws)
            .first;
      },
      f32({512, 64}), f32({6, 64, 64}));
}

TEST(SmallGraphs, AnAxisOfOneDeviceCutsNothing) {
  const auto f = [](Array a, Array b) { return ts::dot(a, b); };
  const auto found = [&](const ts::Mesh& mesh) {
    return ts::autoshard(f, {.mesh = mesh})(f32({4096, 64}), f32({64, 64}));
  };
  const auto a = found(ts::Mesh::abstract({{"x", 4}}));
  const auto b = found(ts::Mesh::abstract({{"x", 4}, {"one", 1}}));
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.choices, b.choices);
  const auto alone = found(ts::Mesh::abstract({{"one", 1}}));
  EXPECT_EQ(alone.choices, 1);
  EXPECT_TRUE(alone.exhaustive);
}

}  // namespace
