// Elementwise functions outside traces cache their compiled programs, which must not affect
// results.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <string>

namespace ts = tessera;
using ts::Array;

namespace {

void expect_same(const Array& a, const Array& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.weak_type(), b.weak_type());
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_TRUE(ts::array_equal(a, b)) << a << "\n" << b;
}

TEST(EagerOnce, EachKindOfOperandsHasItsProgram) {
  const Array operands[] = {Array(2),
                            Array(2.5),
                            ts::array({1, 2}),
                            ts::array({1.5, -3.0}),
                            ts::array({true, false}),
                            ts::array({{1}, {2}})};
  for (int round = 0; round < 2; ++round)
    for (const Array& x : operands) {
      expect_same(ts::exp(x), ts::jit([](Array a) { return ts::exp(a); })(x));
      for (const Array& y : operands) {
        expect_same(x + y, ts::jit([](Array a, Array b) { return a + b; })(x, y));
        expect_same(ts::arctan2(x, y),
                    ts::jit([](Array a, Array b) { return ts::arctan2(a, b); })(x, y));
        expect_same(x < y, ts::jit([](Array a, Array b) { return a < b; })(x, y));
        expect_same(ts::logical_and(x, y),
                    ts::jit([](Array a, Array b) { return ts::logical_and(a, b); })(x, y));
      }
    }
}

TEST(EagerOnce, NumbersAreArguments) {
  Array x = ts::array({1.0, 2.0});
  for (int i = 0; i < 3; ++i) expect_same(x * i, ts::array({1.0 * i, 2.0 * i}));
}

TEST(EagerOnce, MistakesAreFoundEachTime) {
  Array x = ts::zeros({2}), y = ts::zeros({3});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(x + y, ts::ShapeError);
    EXPECT_THROW(x + Array(), ts::TraceError);
    EXPECT_THROW(ts::exp(ts::abstract(ts::f32, {2})), ts::TraceError);
    expect_same(x + x, x);
  }
}

TEST(EagerOnce, TracesSeeTheFunctionAfterItRanOutside) {
  Array x = ts::array({1.0, 2.0, 3.0});
  expect_same(x * x, ts::array({1.0, 4.0, 9.0}));
  expect_same(ts::grad([&](Array a) { return ts::sum(a * a); })(x), ts::array({2.0, 4.0, 6.0}));
  expect_same(ts::vmap([](Array a) { return a * a; })(x), ts::array({1.0, 4.0, 9.0}));
}

}  // namespace
