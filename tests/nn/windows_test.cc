// Windows far longer than the array: reading the padding costs no time.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

namespace {

namespace ts = tessera;
using ts::Array;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kLong = std::int64_t{1} << 29;

Array image() { return ts::arange(1.0f, 129.0f).reshape({1, 8, 8, 2}); }

}  // namespace

TEST(LongWindows, TakeTheWholeArray) {
  const Array x = image(), row = x.reshape({1, 64, 2});
  for (const Array& y : {ts::max_pool(x, {kLong, kLong}, {}, "SAME"),
                         ts::max_pool(x, {kLong, 8}, {1, 8}, "SAME").get({ts::all, ts::until(1)}),
                         ts::max_pool(row, {kLong}, {kLong}, "SAME").reshape({1, 1, 1, 2})})
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{127, 128}));
  EXPECT_EQ(ts::nn::min_pool(x, {kLong, kLong}, {}, "SAME").to_vector<float>(),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(ts::avg_pool(x, {kLong, kLong}, {}, "SAME").to_vector<float>(),
            (std::vector<float>{64, 65}));
  EXPECT_EQ(ts::max_pool(x, {kLong, kLong}).shape(), (ts::Shape{1, 0, 0, 2}));
}

// Every window of a row reads the same elements as a window of the row's own length.
TEST(LongWindows, SlideAsShorterOnesDo) {
  const Array x = ts::sin(ts::arange(1.0f, 13.0f)).reshape({1, 12, 1});
  const auto pooled = [&](std::int64_t window, std::int64_t before, std::int64_t after) {
    const ts::Padding padding({std::pair<std::int64_t, std::int64_t>{before, after}});
    return ts::max_pool(x, {window}, {1}, padding).to_vector<float>();
  };
  // A window of 23 elements reaches every element from every other one.
  EXPECT_EQ(pooled(kLong, kLong - 12, 11), pooled(23, 11, 11));
  EXPECT_EQ(pooled(kLong, 0, kLong - 1), pooled(12, 0, 11));
  EXPECT_EQ(pooled(kLong, kLong - 1, 0), pooled(12, 11, 0));
}

TEST(LongWindows, HaveDerivatives) {
  const Array x = image();
  const auto at = [](const Array& g) {
    return std::pair(g.to_vector<float>()[127], ts::sum(g).item<float>());
  };
  const Array most = ts::grad([](Array z) {
    return ts::sum(ts::max_pool(z, {kLong, kLong}, {}, "SAME"));
  })(x);
  EXPECT_EQ(at(most), std::pair(1.0f, 2.0f));
  const Array mean = ts::grad([](Array z) {
    return ts::sum(ts::avg_pool(z, {kLong, kLong}, {}, "SAME"));
  })(x);
  EXPECT_EQ(at(mean), std::pair(1.0f / 64, 2.0f));
}

TEST(LongWindows, OfAFunctionOfTheCallersOwn) {
  const Array x = ts::arange(8);
  const Array y =
      ts::reduce_window(x, 0, [](Array a, Array b) { return a + b; },
                        {.window = {kLong}, .strides = {kLong}, .padding = {{kLong - 8, 0}}});
  EXPECT_EQ(y.to_vector<std::int32_t>(), (std::vector<std::int32_t>{28}));
}
