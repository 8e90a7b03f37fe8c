// top_k through the public functions, against a sort of plain numbers.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

/// The k greatest elements of each of `rows` rows, by a stable descending sort of (value,
/// position).
struct Expected {
  std::vector<float> values;
  std::vector<std::int32_t> indices;
};
Expected greatest(const std::vector<float>& x, std::size_t rows, std::size_t k) {
  Expected e;
  const std::size_t n = x.size() / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<std::int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    const float* row = x.data() + r * n;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t i, std::int32_t j) { return row[i] > row[j]; });
    for (std::size_t i = 0; i < k; ++i) {
      e.values.push_back(row[order[i]]);
      e.indices.push_back(order[i]);
    }
  }
  return e;
}

// Few values, so that there are ties.
Array rows(ts::Shape shape) {
  return ts::floor(ts::random::uniform(ts::random::key(7), shape) * 20) / 4;
}

}  // namespace

TEST(TopK, IsTheBeginningOfASort) {
  for (std::int64_t n : {1, 9, 1000}) {
    const Array x = rows({6, n});
    for (std::int64_t k : {std::int64_t{0}, std::int64_t{1}, n / 30, n / 8, n / 2, n}) {
      const Expected want = greatest(x.to_vector<float>(), 6, static_cast<std::size_t>(k));
      const auto take = [k](Array y) { return ts::top_k(y, k); };
      for (const ts::TopK& got : {take(x), ts::jit(take)(x)}) {
        EXPECT_EQ(got.values.shape(), (ts::Shape{6, k}));
        EXPECT_EQ(got.indices.dtype(), ts::i32);
        EXPECT_EQ(got.values.to_vector<float>(), want.values);
        EXPECT_EQ(got.indices.to_vector<std::int32_t>(), want.indices);
      }
    }
  }
}

TEST(TopK, UnderVmapAlongAnyAxis) {
  const Array x = rows({4, 5, 6});
  for (int axis : {0, 1, 2}) {
    const ts::TopK got = ts::vmap([](Array y) { return ts::top_k(y, 3); }, {.in_axes = {axis}})(x);
    const ts::TopK want = ts::top_k(ts::moveaxis(x, axis, 0), 3);
    EXPECT_EQ(got.values.to_vector<float>(), want.values.to_vector<float>());
    EXPECT_EQ(got.indices.to_vector<std::int32_t>(), want.indices.to_vector<std::int32_t>());
  }
}

// The weighted cotangents go to the positions of the values; of equal values, the first receives
// all.
TEST(TopK, GradientsGoWhereTheValuesCameFrom) {
  const Array x = ts::array({{3.0, 1.0, 3.0, 2.0}, {0.0, 5.0, 4.0, 4.0}});
  const auto f = [](Array y) { return ts::sum(ts::top_k(y, 2).values * ts::array({10.0, 1.0})); };
  EXPECT_EQ(ts::grad(f)(x).to_vector<float>(), (std::vector<float>{10, 0, 1, 0, 0, 10, 1, 0}));
  const auto square = [](Array y) {
    const Array v = ts::top_k(y, 1).values;
    return ts::sum(v * v * v);
  };
  EXPECT_EQ(ts::grad([&](Array y) { return ts::sum(ts::grad(square)(y)); })(x).to_vector<float>(),
            (std::vector<float>{18, 0, 0, 0, 0, 30, 0, 0}));
}

TEST(TopK, OfBooleans) {
  const ts::TopK got = ts::top_k(ts::array({{false, true}, {true, true}}), 1);
  EXPECT_EQ(got.indices.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 0}));
}
