// Sorts along a sharded dimension, as users write them.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::none;
using ts::P;

namespace {

class CutSorts : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = ts::device_count();
    ts::set_device_count(8);
    line = ts::Mesh({{"x", 8}});
  }
  void TearDown() override { ts::set_device_count(before_); }

  // Numbers with repetitions, both zeros, infinities and NaN.
  static Array drawn(const ts::Shape& shape, int seed) {
    Array x = ts::floor(ts::random::normal(ts::random::key(seed), shape) * 40) / 8;
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    x = ts::where(ts::equal(x, 0.125f), -0.0f, x);
    x = ts::where(ts::greater(x, 9.0f), inf, ts::where(ts::less(x, -9.0f), -inf, x));
    return ts::where(ts::equal(x, 3.25f), nan, x);
  }
  // The results agree bit for bit with those of one device, and no device holds the whole array.
  void expect_as_on_one(const std::string& what, const std::function<Array(Array)>& f,
                        const Array& x, const ts::PartitionSpec& spec) {
    SCOPED_TRACE(what);
    const auto cut = ts::jit(f);
    const Array there = ts::device_put(x, line, spec);
    const Array want = ts::jit(f)(x), got = cut(there);
    ASSERT_EQ(got.shape(), want.shape());
    ASSERT_EQ(got.dtype(), want.dtype());
    const std::vector<float> a = got.astype(ts::f32).to_vector<float>(),
                             b = want.astype(ts::f32).to_vector<float>();
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
    const std::int64_t whole = x.size() * 4;
    for (const auto& use : cut.lower(there).collectives())
      EXPECT_FALSE(use.op == "all_gather" && use.bytes >= whole) << "gathers " << use.bytes;
    ++checked_;
  }

  ts::Mesh line;
  int checked_ = 0;

 private:
  int before_ = 0;
};

TEST_F(CutSorts, AreThoseOfOneDevice) {
  for (const std::int64_t n : {1600, 1608}) {
    const Array x = drawn({n}, static_cast<int>(n));
    const ts::PartitionSpec spec = P("x");
    SCOPED_TRACE(n);
    expect_as_on_one(
        "sort", [](Array v) { return ts::sort(v); }, x, spec);
    expect_as_on_one(
        "of a size that does not divide", [n](Array v) { return ts::sort(v(ts::Range(0, n - 7))); },
        x, spec);
    expect_as_on_one(
        "descending", [](Array v) { return ts::flip(ts::sort(-v)); }, x, spec);
    expect_as_on_one(
        "argsort", [](Array v) { return ts::argsort(v); }, x, spec);
    expect_as_on_one(
        "median", [](Array v) { return ts::median(v); }, x, spec);
    expect_as_on_one(
        "quantile",
        [](Array v) {
          return ts::quantile(v, Array(std::vector<float>{0.1f, 0.9f}));
        },
        x, spec);
    expect_as_on_one(
        "gradient of the median",
        [](Array v) { return ts::grad([](Array u) { return ts::nanmedian(u * u); })(v); },
        ts::nan_to_num(x), spec);
    expect_as_on_one(
        "gradient of the largest",
        [n](Array v) {
          return ts::grad([n](Array u) { return ts::sum(ts::sort(u)(ts::Range(n - 20, n))); })(v);
        },
        ts::random::normal(ts::random::key(9), {n}), spec);
  }
  EXPECT_EQ(checked_, 16);
}

TEST_F(CutSorts, UnderVmap) {
  const Array x = drawn({3, 1608}, 5);
  expect_as_on_one(
      "rows", [](Array m) { return ts::vmap([](Array v) { return ts::sort(v); })(m); }, x,
      P(none, "x"));
  expect_as_on_one(
      "columns",
      [](Array m) { return ts::vmap([](Array v) { return ts::argsort(v); }, {.in_axes = {1}})(m); },
      ts::transpose(x), P("x"));
  expect_as_on_one(
      "medians", [](Array m) { return ts::median(m, {.axis = 1}); }, x, P(none, "x"));
  expect_as_on_one(
      "by two keys",
      [](Array m) {
        return ts::lexsort({m[0], ts::floor(m[1])});
      },
      x, P(none, "x"));
  EXPECT_EQ(checked_, 4);
}

}  // namespace
