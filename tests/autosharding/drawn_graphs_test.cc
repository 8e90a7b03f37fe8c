// Random graphs of up to six operations: the search finds the best of all choices; if it does not
// judge all of them, its choice is no worse than any template.
#include "every_choice.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace {

namespace ts = tessera;
using every_choice::Best;
using every_choice::brute_force;
using every_choice::kSame;
using every_choice::speeds;
using ts::Array;

/// Three arguments, and a function of them that draws from the same seed whenever it is traced.
struct Graph {
  std::uint32_t seed;
  ts::Shape first, second, third;

  explicit Graph(std::uint32_t number) : seed(number) {
    std::mt19937 random(seed);
    const auto size = [&] { return std::int64_t{16} << random() % 6; };
    const std::int64_t m = size(), k = size(), n = size();
    first = {m, k};
    second = {k, n};
    third = random() % 2 ? ts::Shape{n} : ts::Shape{m, n};
  }
  Array operator()(const Array& a, const Array& b, const Array& c) const {
    std::mt19937 random(seed + 1);
    Array x = random() % 3 ? ts::dot(a, b) + c : ts::sum(a) * b;
    for (unsigned left = 2 + random() % 3; left > 0; --left) {
      const unsigned kind = random() % 8;
      if (kind >= 6 && x.ndim() == 2 && left > 1) {  // two operations
        const bool rows = kind == 6;
        const Array& w = rows ? a : b;
        if (x.shape(rows ? 0 : 1) == w.shape(rows ? 0 : 1)) {
          x = rows ? ts::dot(ts::transpose(w), x) : ts::dot(x, ts::transpose(w));
          --left;
          continue;
        }
      }
      x = kind == 0                             ? ts::tanh(x)
          : kind == 1                           ? ts::transpose(x)
          : kind == 2                           ? (x.ndim() > 0 ? ts::sum(x, 0) : x + 1)
          : kind == 3                           ? (x.ndim() > 0 ? ts::cumsum(x, 0) : -x)
          : kind == 4                           ? x.reshape(ts::Shape{x.size()})
          : kind == 5 && x.shape() == c.shape() ? x * c
                                                : x * x;
    }
    return x;
  }
};

Array f32(const ts::Shape& shape) { return ts::abstract(ts::f32, shape); }

TEST(DrawnGraphs, AreCutInTheBestWay) {
  const char* many = std::getenv("TESSERA_RANDOM_PROGRAMS");
  const int count = many ? std::atoi(many) : 16;
  int cut = 0;
  for (int i = 0; i < count; ++i) {
    const Graph graph(static_cast<std::uint32_t>(i));
    const auto f = [&](Array a, Array b, Array c) { return graph(a, b, c); };
    const Array a = f32(graph.first), b = f32(graph.second), c = f32(graph.third);
    const ts::Mesh mesh =
        i % 4 ? ts::Mesh::abstract({{"x", 4}}) : ts::Mesh::abstract({{"x", 2}, {"y", 2}});
    SCOPED_TRACE("graph " + std::to_string(i) + " over " + to_string(mesh) + "\n" +
                 ts::make_ir(f)(a, b, c));
    const Best best = brute_force(mesh, {}, f, a, b, c);
    ts::AutoshardOptions options;
    options.mesh = mesh;
    options.plan = speeds();
    options.evaluations = 20000;
    const ts::AutoShardings found = ts::autoshard(f, options)(a, b, c);
    EXPECT_TRUE(found.exhaustive);
    EXPECT_EQ(found.choices, best.choices);
    EXPECT_NEAR(found.seconds, best.seconds, kSame * best.seconds) << to_string(found);
    const double made = ts::jit(f, found.options()).lower(a, b, c).plan(speeds()).seconds();
    EXPECT_NEAR(made, found.seconds, kSame * made) << to_string(found);
    cut += found.seconds < found.templates.front().seconds ? 1 : 0;

    options.evaluations = best.choices / 2;
    const ts::AutoShardings walked = ts::autoshard(f, options)(a, b, c);
    EXPECT_FALSE(walked.exhaustive);
    EXPECT_GE(walked.seconds, best.seconds * (1 - kSame));
    for (const ts::AutoshardTemplate& t : walked.templates)
      EXPECT_LE(walked.seconds, t.seconds * (1 + kSame)) << t.name << "\n" << to_string(walked);
  }
  EXPECT_GT(cut, 0) << "what is found is always the first template";
}

}  // namespace
