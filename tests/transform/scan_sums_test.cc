// Gradients of values that a loop reads in every iteration, computed as one product over all
// iterations after the loop.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

// Integers, so that sums are exact in any order.
Array whole(const ts::Shape& shape, int seed) {
  return ts::random::randint(ts::random::key(seed), shape, -2, 3).astype(ts::f32);
}

struct Cell {
  Array w, u, b;
};
using Step = std::function<Array(const Cell&, Array h, Array x)>;
using Loop = std::function<Array(const Cell&, Array h, Array xs)>;

Loop scanned(const Step& step, bool reverse = false) {
  return [=](const Cell& c, Array h, Array xs) {
    const auto turn = [&](Array h, Array x) {
      const Array next = step(c, h, x);
      return std::pair(next, next);
    };
    const auto [last, all] = ts::scan(turn, h, xs, {.reverse = reverse});
    return ts::sum(last * 2) + ts::sum(all);
  };
}
Loop unrolled(const Step& step, bool reverse = false) {
  return [=](const Cell& c, Array h, Array xs) {
    Array sum = 0.0f;
    const std::int64_t n = xs.shape()[0];
    for (std::int64_t t = 0; t < n; ++t) {
      h = step(c, h, xs[reverse ? n - 1 - t : t]);
      sum = sum + ts::sum(h);
    }
    return ts::sum(h * 2) + sum;
  };
}

Array recurrent(const Cell& c, Array h, Array x) {
  // The integers stay small enough to be exact.
  return ts::matmul(x, c.w) + ts::matmul(h, c.u) * ts::greater(ts::sum(x), 0).astype(ts::f32) + c.b;
}

// The number of carries of each loop of a program, in order.
std::vector<int> carries(const std::string& text) {
  std::vector<int> all;
  for (std::size_t at = 0; (at = text.find("carry=", at)) != std::string::npos; ++at)
    all.push_back(std::stoi(text.substr(at + 6)));
  return all;
}

void expect_equal(const Cell& got, const Cell& want) {
  EXPECT_EQ(got.w.to_vector<float>(), want.w.to_vector<float>());
  EXPECT_EQ(got.u.to_vector<float>(), want.u.to_vector<float>());
  EXPECT_EQ(got.b.to_vector<float>(), want.b.to_vector<float>());
}

TEST(ScanSums, AreThoseOfTheUnrolledLoop) {
  int checked = 0;
  for (const ts::Shape& batch : {ts::Shape{}, ts::Shape{3}, ts::Shape{2, 3}})
    for (const bool reverse : {false, true})
      for (const std::int64_t turns : {0, 1, 5}) {
        std::vector<std::int64_t> start(batch.begin(), batch.end());
        start.push_back(24);
        std::vector<std::int64_t> all{turns};
        all.insert(all.end(), batch.begin(), batch.end());
        all.push_back(16);
        const Cell c{whole({16, 24}, 1), whole({24, 24}, 2), whole({24}, 3)};
        const Array h = whole(ts::Shape(start), 4), xs = whole(ts::Shape(all), 5);
        const auto gradient = [&](const Loop& loop) {
          return ts::jit([&](const Cell& c) {
            return ts::grad([&](const Cell& c) { return loop(c, h, xs); })(c);
          })(c);
        };
        SCOPED_TRACE(turns);
        expect_equal(gradient(scanned(recurrent, reverse)), gradient(unrolled(recurrent, reverse)));
        ++checked;
      }
  EXPECT_EQ(checked, 18);
}

// A gradient as large as a weight is not read and written in each iteration: the backward loop
// carries the cotangents of the state and of the bias, and the counter. It is read and written,
// however, if the operands of all iterations would be large, or as large as their product.
TEST(ScanSums, AreNoCarries) {
  const auto backward = [](const Step& step, const ts::Shape& start, std::int64_t turns) {
    const Cell c{whole({16, 24}, 1), whole({24, 24}, 2), whole({24}, 3)};
    std::vector<std::int64_t> all{turns};
    all.insert(all.end(), start.begin(), start.end());
    all.back() = 16;
    const Array h = whole(start, 4), xs = whole(ts::Shape(all), 5);
    const auto loss = [&](const Cell& c) { return scanned(step)(c, h, xs); };
    return carries(ts::jit(ts::grad(loss)).lower(c).ir()).back();
  };
  EXPECT_EQ(backward(recurrent, {24}, 5), 2);
  EXPECT_EQ(backward(recurrent, {2, 24}, 5), 2);
  EXPECT_EQ(backward(recurrent, {64, 24}, 5), 4);
  // The gradient of a bias alone stays a carry.
  const Step biased = [](const Cell& c, Array h, Array x) {
    return h * 0.5f + c.b + ts::sum(x) + ts::sum(c.w) + ts::sum(c.u);
  };
  EXPECT_EQ(backward(biased, {24}, 5), 4);
}

TEST(ScanSums, UnderVmapAndTwice) {
  const Cell c{whole({16, 24}, 1), whole({24, 24}, 2), whole({24}, 3)};
  const Array hs = whole({4, 24}, 4), xs = whole({4, 3, 16}, 5);
  const auto each = [&](const Loop& loop) {
    return ts::vmap([&](Array h, Array x) {
      return ts::grad([&](const Cell& c) { return loop(c, h, x); })(c);
    })(hs, xs);
  };
  expect_equal(each(scanned(recurrent)), each(unrolled(recurrent)));
  const auto total = [&](const Loop& loop) {
    return ts::grad([&](const Cell& c) {
      return ts::sum(ts::vmap([&](Array h, Array x) { return loop(c, h, x); })(hs, xs));
    })(c);
  };
  expect_equal(total(scanned(recurrent)), total(unrolled(recurrent)));
  // A second derivative along one direction.
  const Cell d{whole({16, 24}, 6), whole({24, 24}, 7), whole({24}, 8)};
  const auto twice = [&](const Loop& loop) {
    const auto g = ts::grad([&](const Cell& c) { return ts::square(loop(c, hs[0], xs[0])) / 4; });
    return ts::jvp(g, std::tuple(c), std::tuple(d)).second;
  };
  expect_equal(twice(scanned(recurrent)), twice(unrolled(recurrent)));
}

}  // namespace
