// Basic behaviour of Array: construction, reading, operators with weak scalars, indexing and
// functional updates.
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <type_traits>

namespace ts = tessera;
using ts::all;
using ts::Array;
using ts::newaxis;
using ts::Shape;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
Floats f32s(const Array& x) { return x.to_vector<float>(); }
Ints i32s(const Array& x) { return x.to_vector<std::int32_t>(); }

struct Kind {
  ts::DType dtype;
  bool weak;
  bool operator==(const Kind&) const = default;
};
Kind kind(const Array& x) { return {x.dtype(), x.weak_type()}; }
std::ostream& operator<<(std::ostream& out, Kind k) {
  return out << (k.weak ? "weak " : "") << ts::name_of(k.dtype);
}

const Array grid = ts::arange(12).reshape(3, 4);

}  // namespace

// --- construction

TEST(ArrayConstruction, VectorsKeepTheirType) {
  EXPECT_EQ(kind(Array(std::vector<double>{1, 2})), (Kind{ts::f64, false}));
  EXPECT_EQ(kind(Array(Floats{1, 2})), (Kind{ts::f32, false}));
  EXPECT_EQ(kind(Array(std::vector<std::uint8_t>{1, 2})), (Kind{ts::u8, false}));
  EXPECT_EQ(kind(Array(std::vector<std::int64_t>{1})), (Kind{ts::i64, false}));
  Array b(std::vector<bool>{true, false, true});
  EXPECT_EQ(kind(b), (Kind{ts::bool_, false}));
  EXPECT_EQ(b.to_vector<bool>(), (std::vector<bool>{true, false, true}));
}

TEST(ArrayConstruction, SpansAndShapes) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  Array a(std::span<const float>(values), {2, 3});
  EXPECT_EQ(a.shape(), (Shape{2, 3}));
  EXPECT_EQ(f32s(a), (Floats{1, 2, 3, 4, 5, 6}));
  Array row{std::span<const float>(values)};
  EXPECT_EQ(row.shape(), (Shape{6}));
  std::size_t n = 2;
  EXPECT_EQ(Array(Floats{1, 2, 3, 4}, {n, 2}).shape(), (Shape{2, 2}));
}

TEST(ArrayConstruction, NestedBraces) {
  Array i = ts::array({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(kind(i), (Kind{ts::i32, false}));
  EXPECT_EQ(i.shape(), (Shape{3, 2}));
  EXPECT_EQ(i32s(i), (Ints{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(kind(ts::array({1.5, 2})), (Kind{ts::f32, false}));
  EXPECT_EQ(kind(ts::array({true, false})), (Kind{ts::bool_, false}));
  EXPECT_EQ(kind(ts::array({1, 2}, ts::f16)), (Kind{ts::f16, false}));
  EXPECT_EQ(ts::array({{{1}, {2}}}).shape(), (Shape{1, 2, 1}));
  EXPECT_EQ(ts::array(std::vector<Floats>{{1, 2}, {3, 4}}).shape(), (Shape{2, 2}));
}

TEST(ArrayConstruction, NumbersAreWeakScalars) {
  EXPECT_EQ(kind(Array(1)), (Kind{ts::i32, true}));
  EXPECT_EQ(kind(Array(std::size_t{3})), (Kind{ts::i32, true}));
  EXPECT_EQ(kind(Array(1.0)), (Kind{ts::f32, true}));
  EXPECT_EQ(kind(Array(1.0f)), (Kind{ts::f32, true}));
  EXPECT_EQ(kind(Array(true)), (Kind{ts::bool_, false}));
  EXPECT_EQ(kind(Array(std::int64_t{1} << 40)).dtype, ts::i64);
  EXPECT_EQ(Array(std::int64_t{1} << 40).item<std::int64_t>(), std::int64_t{1} << 40);
  EXPECT_EQ(kind(ts::array(1.5)), (Kind{ts::f32, false}));
}

// --- reading

TEST(ArrayReading, ItemsConvert) {
  Array x = ts::array({2.75});
  EXPECT_EQ(x.item<double>(), 2.75);
  EXPECT_EQ(x.item<int>(), 2);
  EXPECT_EQ(static_cast<float>(Array(7)), 7.0f);
  EXPECT_EQ(static_cast<int>(ts::array({-3})), -3);
  std::uint64_t big = std::numeric_limits<std::uint64_t>::max() - 1;
  EXPECT_EQ(Array(std::vector<std::uint64_t>{big}).item<std::uint64_t>(), big);
  EXPECT_EQ(float(ts::array({0.5}).item<ts::float16_t>()), 0.5f);
}

TEST(ArrayReading, HostSpansAreTheElementsInOrder) {
  Array t = grid.T();
  std::span<const std::int32_t> s = t.host<std::int32_t>();
  EXPECT_EQ(Ints(s.begin(), s.end()), (Ints{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(t.host<std::int32_t>().data(), s.data());
}

TEST(ArrayReading, TruthOfScalars) {
  EXPECT_TRUE(bool(ts::array({1, 2})[0] == 1));
  EXPECT_FALSE(bool(Array(0.0)));
  EXPECT_TRUE(bool(Array(NAN)));
  if (ts::all(grid >= 0))
    SUCCEED();
  else
    FAIL();
}

TEST(ArrayReading, RangeForWalksTheFirstAxis) {
  std::vector<Ints> rows;
  for (Array row : grid) rows.push_back(i32s(row));
  EXPECT_EQ(rows, (std::vector<Ints>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}));
  EXPECT_EQ(grid.length(), 3);
  int n = 0;
  for (Array x : ts::zeros({0, 3})) n += static_cast<int>(x.size());
  EXPECT_EQ(n, 0);
}

// --- operators

TEST(ArrayOperators, WeakScalarsGiveWay) {
  Array f = ts::array({1.0}), h = ts::array({1.0}, ts::f16), d = ts::array({1.0}, ts::f64),
        i = ts::array({1});
  EXPECT_EQ(kind(f + 1.5), (Kind{ts::f32, false}));
  EXPECT_EQ(kind(h + 1.5), (Kind{ts::f16, false}));
  EXPECT_EQ(kind(d + 1.5), (Kind{ts::f64, false}));
  EXPECT_EQ(kind(h * 2), (Kind{ts::f16, false}));
  EXPECT_EQ(kind(i + 1.5), (Kind{ts::f32, true}));
  EXPECT_EQ(kind(i + 1), (Kind{ts::i32, false}));
  EXPECT_EQ(kind(i + std::size_t{3}), (Kind{ts::i32, false}));
  EXPECT_EQ(kind(ts::array({1}, ts::u8) + 1), (Kind{ts::u8, false}));
  EXPECT_EQ(kind(ts::array({true}) + 1), (Kind{ts::i32, true}));
  EXPECT_EQ(kind(i + ts::array({1.0}, ts::bf16)), (Kind{ts::bf16, false}));
  EXPECT_EQ(kind(h + ts::array({1.0}, ts::bf16)), (Kind{ts::f32, false}));
  EXPECT_EQ(kind(i + ts::array({1}, ts::u32)), (Kind{ts::i64, false}));
}

TEST(ArrayOperators, NumPysArithmetic) {
  Array a = ts::array({7, -7, 7, -7}), b = ts::array({2, 2, -2, -2});
  EXPECT_EQ(f32s(a / b), (Floats{3.5f, -3.5f, -3.5f, 3.5f}));
  EXPECT_EQ(i32s(a % b), (Ints{1, 1, -1, -1}));
  EXPECT_EQ(i32s(-a), (Ints{-7, 7, -7, 7}));
  EXPECT_EQ(i32s(ts::array({6, 5}) & ts::array({3, 4})), (Ints{2, 4}));
  EXPECT_EQ(i32s(ts::array({6, 5}) | 1), (Ints{7, 5}));
  EXPECT_EQ(i32s(ts::array({6, 5}) ^ 3), (Ints{5, 6}));
  EXPECT_EQ(i32s(~ts::array({0, -1})), (Ints{-1, 0}));
  EXPECT_EQ(i32s(ts::array({1, -8}) << 2), (Ints{4, -32}));
  EXPECT_EQ(i32s(ts::array({9, -8}) >> 1), (Ints{4, -4}));
  EXPECT_EQ((a != b).to_vector<bool>(), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ((2 < a && a < 9).to_vector<bool>(), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ((!(a > 0)).to_vector<bool>(), (std::vector<bool>{false, true, false, true}));
  Array c = a;
  c += 1;
  c *= b;
  EXPECT_EQ(i32s(c), (Ints{16, -12, -16, 12}));
  EXPECT_EQ(i32s(a), (Ints{7, -7, 7, -7}));
}

TEST(ArrayOperators, Broadcast) {
  Array column = ts::array({{10}, {20}, {30}});
  EXPECT_EQ(i32s(grid + column)[11], 41);
  EXPECT_EQ((grid + ts::ones({5, 1, 1}, ts::i32)).shape(), (Shape{5, 3, 4}));
  EXPECT_EQ((ts::zeros({0, 4}) + ts::ones({4})).shape(), (Shape{0, 4}));
}

// --- indexing

TEST(ArrayIndexing, PositionsAndRanges) {
  EXPECT_EQ(i32s(grid[0]), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(i32s(grid[-1]), (Ints{8, 9, 10, 11}));
  EXPECT_EQ(grid(-1, -2).item<int>(), 10);
  EXPECT_EQ(grid[1][2].item<int>(), 6);
  EXPECT_EQ(i32s(grid(all, 1)), (Ints{1, 5, 9}));
  EXPECT_EQ(i32s(grid(0, ts::range(1, 3))), (Ints{1, 2}));
  EXPECT_EQ(i32s(grid(0, ts::range({}, {}, -1))), (Ints{3, 2, 1, 0}));
  EXPECT_EQ(i32s(grid(0, ts::range(-3, -1))), (Ints{1, 2}));
  EXPECT_EQ(i32s(grid(0, ts::until(2))), (Ints{0, 1}));
  EXPECT_EQ(i32s(grid(0, ts::from(-1))), (Ints{3}));
  EXPECT_EQ(grid(ts::range(2, 100)).shape(), (Shape{1, 4}));
  EXPECT_EQ(grid(ts::range(2, 1)).shape(), (Shape{0, 4}));
  EXPECT_EQ(grid(newaxis, 0, all, newaxis).shape(), (Shape{1, 4, 1}));
  std::size_t last = 2;
  EXPECT_EQ(i32s(grid[last]), (Ints{8, 9, 10, 11}));
}

TEST(ArrayIndexing, Arrays) {
  EXPECT_EQ(i32s(ts::arange(5)[ts::array({4, 0, -1})]), (Ints{4, 0, 4}));
  EXPECT_EQ(i32s(grid(ts::array({0, 2}), ts::array({1, 3}))), (Ints{1, 11}));
  EXPECT_EQ(grid(all, ts::array({{0, 1}, {2, 3}})).shape(), (Shape{3, 2, 2}));
}

TEST(ArrayIndexing, UpdatesAreNewArrays) {
  Array x = ts::zeros({2, 3});
  Array y = x.at(0).set(ts::array({1.0, 2.0, 3.0}));
  EXPECT_EQ(f32s(y), (Floats{1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(f32s(x), (Floats(6, 0.0f)));
  EXPECT_EQ(f32s(y.at(all, -1).add(10)), (Floats{1, 2, 13, 0, 0, 10}));
  EXPECT_EQ(f32s(y.at(0, ts::from(1)).multiply(2)), (Floats{1, 4, 6, 0, 0, 0}));
  EXPECT_EQ(f32s(y.at(0).min(2)), (Floats{1, 2, 2, 0, 0, 0}));
  EXPECT_EQ(f32s(y.at(1).max(ts::array({-1.0, 0.5, 7.0}))), (Floats{1, 2, 3, 0, 0.5f, 7}));
  EXPECT_EQ(i32s(ts::zeros({3}, ts::i32).at(ts::array({0, 0, 2})).add(1)), (Ints{2, 0, 1}));
  EXPECT_EQ(i32s(ts::zeros({3}, ts::i32).at(ts::array({0, 0, 2})).set(ts::array({5, 6, 7}))),
            (Ints{6, 0, 7}));
  EXPECT_EQ(kind(ts::zeros({3}, ts::i32).at(0).set(1)), (Kind{ts::i32, false}));
  EXPECT_THROW(ts::zeros({3}, ts::i32).at(0).set(1.5), ts::DTypeError);
}

// Rows of every length are added as a loop over elements adds them, in order.
TEST(ArrayIndexing, RowsOfAnyLengthAreAddedInOrder) {
  for (std::int64_t n : {1, 3, 15, 16, 17, 63, 64, 65, 300, 1040}) {
    const Array at = ts::array({2, 0, 2, 2, 1, 0, 2});
    const std::vector<std::int64_t> rows = {2, 0, 2, 2, 1, 0, 2};
    const Array x = ts::random::normal(ts::random::key(1), {3, n}),
                v = ts::random::normal(ts::random::key(2), {7, n});
    Floats sums = f32s(x);
    const Floats added = f32s(v);
    for (std::size_t k = 0; k < rows.size(); ++k)
      for (std::int64_t j = 0; j < n; ++j)
        sums[static_cast<std::size_t>(rows[k] * n + j)] +=
            added[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)];
    EXPECT_EQ(f32s(x.at(at).add(v)), sums) << n;
    const auto whole = [](const Array& a) { return ts::floor(a * 1000).astype(ts::i32); };
    Ints wholes = i32s(whole(x));
    const Ints more = i32s(whole(v));
    for (std::size_t k = 0; k < rows.size(); ++k)
      for (std::int64_t j = 0; j < n; ++j)
        wholes[static_cast<std::size_t>(rows[k] * n + j)] +=
            more[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)];
    EXPECT_EQ(i32s(whole(x).at(at).add(whole(v))), wholes) << n;
  }
}

// Arrays at every position of the index, adjacent and not, agree with a loop over elements.
TEST(ArrayIndexing, UpdatesAtArraysPickWhatReadingPicks) {
  const Array i = ts::array({1, 1, -1, 9}), k = ts::array({0, 0, 2, 1});
  const std::vector<std::int64_t> is = {1, 1, 4, 9}, ks = {0, 0, 2, 1};
  const Array z = ts::zeros({5, 4, 3});
  Floats rows(60), apart(60), columns(60), together(60);
  auto at = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<std::size_t>((a * 4 + b) * 3 + c);
  };
  for (std::size_t n = 0; n < 4; ++n) {
    const float v = static_cast<float>(n + 1);
    for (std::int64_t b = 0; b < 4; ++b) {
      if (is[n] < 5) apart[at(is[n], b, ks[n])] += v;
      for (std::int64_t c = 0; c < 3; ++c)
        if (is[n] < 5) rows[at(is[n], b, c)] += v;
    }
    for (std::int64_t a = 0; a < 5; ++a)
      for (std::int64_t b = 0; b < 4; ++b) columns[at(a, b, ks[n])] += v;
    for (std::int64_t c = 0; c < 3; ++c)
      if (is[n] < 5) together[at(is[n], ks[n], c)] += v;
  }
  const Array v = ts::array({1.0f, 2.0f, 3.0f, 4.0f});
  EXPECT_EQ(f32s(z.at(i).add(v.reshape(4, 1, 1))), rows);
  EXPECT_EQ(f32s(z.at(i, all, k).add(v.reshape(4, 1))), apart);
  EXPECT_EQ(f32s(z.at(all, all, k).add(v)), columns);
  EXPECT_EQ(f32s(z.at(i, k).add(v.reshape(4, 1))), together);
}

TEST(ArrayIndexing, AssignmentToAnElementDoesNotCompile) {
  static_assert(!std::is_assignable_v<Array, Array>);
  static_assert(std::is_assignable_v<Array&, Array>);
}

TEST(Einsum, TakesOperandsOneByOne) {
  Array a = Array(Floats{1, 2, 3, 4}, {2, 2}), v = ts::array({1.0f, 10.0f});
  EXPECT_EQ(f32s(ts::einsum("ii->", a)), (Floats{5}));
  EXPECT_EQ(f32s(ts::einsum("ij,j->i", a, v)), (Floats{21, 43}));
  EXPECT_EQ(f32s(ts::einsum("i,ij,j->", v, a, v)), (Floats{451}));
}

TEST(ArrayOperators, QuotientsAndLengthsAtTheEdges) {
  const float inf = std::numeric_limits<float>::infinity();
  Array x(Floats{1, -1, 2.5, 1, -1, 7, -7, 7, -7});
  Array y(Floats{0, 0, -0.0f, -inf, inf, 2, 2, -2, -2});
  EXPECT_EQ(f32s(ts::floor_divide(x, y)), (Floats{inf, -inf, -inf, -1, -1, 3, -4, -4, 3}));
  Array a(Floats{inf, -inf, inf, 3}), b(Floats{inf, 1, NAN, -4});
  EXPECT_EQ(f32s(ts::hypot(a, b)), (Floats{inf, inf, inf, 5}));
  EXPECT_EQ(f32s(ts::hypot(b, a)), (Floats{inf, inf, inf, 5}));
}

TEST(ArrayReading, IntegersThatHoldTheValue) {
  EXPECT_EQ(Array(-2.9).item<int>(), -2);
  EXPECT_EQ(Array(-0.9).item<unsigned>(), 0u);
  EXPECT_EQ(Array(std::vector<double>{-0x1p63}, {}).item<std::int64_t>(), INT64_MIN);
  EXPECT_THROW((void)Array(std::vector<double>{0x1p63}, {}).item<std::int64_t>(), ts::DTypeError);
  EXPECT_EQ(Array(std::vector<double>{0x1p63}, {}).item<std::uint64_t>(), 1ull << 63);
  EXPECT_THROW((void)Array(std::vector<double>{0x1p64}, {}).item<std::uint64_t>(), ts::DTypeError);
  EXPECT_EQ(Array(UINT64_MAX).item<std::uint64_t>(), UINT64_MAX);
  EXPECT_THROW((void)Array(UINT64_MAX).item<std::int64_t>(), ts::DTypeError);
  EXPECT_EQ(Array(127).item<std::int8_t>(), 127);
  EXPECT_THROW((void)Array(128).item<std::int8_t>(), ts::DTypeError);
  EXPECT_TRUE(Array(0.5).item<bool>());
}
