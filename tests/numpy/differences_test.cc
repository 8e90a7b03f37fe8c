// docs/differences.md, row by row.
#include "only_cpu.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <fstream>
#include <limits>
#include <regex>
#include <set>

namespace ts = tessera;
using ts::Array;
using Ints = std::vector<std::int32_t>;

namespace {

template <class T>
std::vector<T> of(const Array& x) {
  return x.to_vector<T>();
}
Array bytes() { return ts::array({200, 1}, ts::u8); }
Array ints() { return ts::array({7, -7, 0}); }

TEST(Differences, Defaults) {
  EXPECT_EQ(ts::zeros({1}).dtype(), ts::f32);
  EXPECT_EQ(ts::arange(3).dtype(), ts::i32);
  EXPECT_EQ(ts::array({1, 2}).dtype(), ts::i32);
  EXPECT_EQ(ts::array({0.5}).dtype(), ts::f32);
  EXPECT_EQ(ts::array({3000000000}).dtype(), ts::i64);  // a number that needs 64 bits has them
  EXPECT_EQ(ts::arange(3000000000, 3000000003).dtype(), ts::i64);
  EXPECT_EQ(ts::zeros({1}, ts::f64).dtype(), ts::f64);
}

TEST(Differences, ComplexOrder) {
  const Array z = ts::array({std::complex<float>(1, 5), std::complex<float>(1, -5)});
  EXPECT_THROW((void)(z < z), ts::DTypeError);
  EXPECT_THROW(ts::max(z), ts::DTypeError);
  EXPECT_THROW(ts::argmax(z), ts::DTypeError);
  EXPECT_EQ(of<float>(ts::imag(ts::sort(z))), (std::vector<float>{-5, 5}));
}

TEST(Differences, ComplexToReal) {
  const Array z(std::complex<float>(1, 2));
  EXPECT_THROW(z.astype(ts::f32), ts::DTypeError);
  EXPECT_THROW(z.item<float>(), ts::DTypeError);
  EXPECT_EQ(ts::real(z).item<float>(), 1);
}

TEST(Differences, WeakNumbers) {
  EXPECT_EQ(Array(0.1).dtype(), ts::f32);
  EXPECT_EQ((0.1 * ts::ones({}, ts::f64)).item<double>(), 0.1);
  EXPECT_EQ((0.1 * ts::ones({})).item<double>(), 0.1f);
  EXPECT_TRUE(ts::sum(Array(0.1)).weak_type());
  EXPECT_TRUE(ts::mean(Array(0.1)).weak_type());
}

TEST(Differences, HalvesOfIntegers) {
  for (ts::DType d : {ts::i32, ts::i64, ts::u8}) {
    EXPECT_EQ((ts::ones({2}, d) * 0.5).dtype(), ts::f32) << d;
    EXPECT_TRUE((ts::ones({2}, d) * 0.5).weak_type()) << d;
  }
  EXPECT_EQ((ts::ones({2}, ts::i64) / 3).dtype(), ts::f64);
  EXPECT_EQ((ts::ones({2}, ts::i32) / 3).dtype(), ts::f32);
}

TEST(Differences, SignedWithUnsigned64) {
  const Array a = ts::array({9007199254740993, -1}, ts::i64),
              b = ts::array({9007199254740992, 18446744073709551615u}, ts::u64);
  EXPECT_EQ((a + b).dtype(), ts::f64);
  EXPECT_FALSE((a + b).weak_type());
  EXPECT_EQ(of<bool>(a > b), (std::vector{true, false}));
  EXPECT_EQ(of<bool>(a == b), (std::vector{false, false}));
}

TEST(Differences, NumbersThatDoNotFit) {
  NEEDS_CPU(same_bits);
  EXPECT_THROW(bytes() * -3, ts::DTypeError);
  EXPECT_THROW(ints() * 5000000000, ts::DTypeError);
  EXPECT_THROW(ts::maximum(bytes(), 300), ts::DTypeError);
  EXPECT_THROW(ts::clip(bytes(), -5, 300), ts::DTypeError);
  EXPECT_THROW(bytes().at(0).set(300), ts::DTypeError);
  EXPECT_THROW(bytes() & 256, ts::DTypeError);
  EXPECT_EQ(of<float>(bytes() / -3), (std::vector{200.f / -3, 1.f / -3}));
}

TEST(Differences, Comparisons) {
  EXPECT_EQ(of<bool>(bytes() == 257), (std::vector{false, false}));
  EXPECT_EQ(of<bool>(bytes() != 257), (std::vector{true, true}));
  EXPECT_EQ(of<bool>(bytes() < 300), (std::vector{true, true}));
  EXPECT_EQ(of<bool>(-1 >= bytes()), (std::vector{false, false}));
}

TEST(Differences, ComputedNumbers) {
  const auto product = ts::jit([](Array x, Array n) { return x * n; });
  EXPECT_EQ(of<std::uint8_t>(product(bytes(), 2)), (std::vector<std::uint8_t>{144, 2}));
  EXPECT_THROW(product(bytes(), 300), ts::DTypeError);  // in the program that 2 made
  EXPECT_THROW(product(ints(), 5000000000), ts::DTypeError);
  EXPECT_THROW(ts::jit([&](Array x, Array n) { return product(x, n); })(bytes(), 300),
               ts::DTypeError);
  EXPECT_THROW(ts::vmap([](Array x, Array n) { return x * n; }, {.in_axes = {0, ts::replicated}})(
                   bytes(), 300),
               ts::DTypeError);
  const int captured = 300;
  EXPECT_THROW(ts::jit([&](Array x) { return x * captured; })(bytes()), ts::DTypeError);
  const auto sum = ts::jit([](Array x, Array n) { return x * (n + 1); });
  EXPECT_EQ(of<std::uint8_t>(sum(bytes(), 299)), (std::vector<std::uint8_t>{96, 44}));
  EXPECT_THROW(sum(ints(), 5000000000), ts::DTypeError);
  // Comparisons are still right.
  const auto less = ts::jit([](Array x, Array n) { return x < n + 1; });
  EXPECT_EQ(of<bool>(less(bytes(), 299)), (std::vector{true, true}));
}

TEST(Differences, AstypeWraps) {
  EXPECT_EQ(of<std::uint8_t>(ts::array({300, -1}).astype(ts::u8)),
            (std::vector<std::uint8_t>{44, 255}));
  EXPECT_EQ(of<std::uint8_t>(ts::array({300.0, -1.0, NAN}).astype(ts::u8)),
            (std::vector<std::uint8_t>{255, 0, 0}));
}

TEST(Differences, FloatsIntoIntegers) {
  EXPECT_THROW(ints().at(0).multiply(0.5), ts::DTypeError);
  EXPECT_THROW(ints().at(0).set(0.5), ts::DTypeError);
  EXPECT_THROW(ints().at(0).add(ts::ones({})), ts::DTypeError);
  EXPECT_THROW(ts::pad(ints(), {{1, 1}}, 0.5), ts::DTypeError);
}

TEST(Differences, DivisionByZero) {
  const Array zero = ts::zeros({3}, ts::i32);
  EXPECT_EQ(of<std::int32_t>(ts::floor_divide(ints(), zero)), (Ints{0, 0, 0}));
  EXPECT_EQ(of<std::int32_t>(ints() % zero), (Ints{0, 0, 0}));
  EXPECT_EQ(of<std::int32_t>(ts::array({true, false}) % ts::array({false, false})), (Ints{0, 0}));
  EXPECT_EQ(of<std::uint8_t>(ts::floor_divide(bytes(), 0)), (std::vector<std::uint8_t>{0, 0}));
}

TEST(Differences, NegativePowers) {
  EXPECT_EQ(
      of<std::int32_t>(ts::power(ts::array({1, -1, -1, 2, 0}), ts::array({-3, -3, -2, -1, -1}))),
      (Ints{1, -1, 1, 0, 0}));
  EXPECT_THROW(ts::power(ints(), -2), ts::DTypeError);
}

TEST(Differences, LongExponents) {
  std::uint32_t want = 1;
  for (int i = 0; i < 65; ++i) want *= 3;
  EXPECT_EQ(of<std::int32_t>(ts::power(ts::array({3}), ts::array({65})))[0],
            static_cast<std::int32_t>(want));
}

TEST(Differences, SumsOfNarrowIntegers) {
  EXPECT_EQ(ts::sum(ts::full({3}, 100, ts::i8)).item<int>(), 300);
  EXPECT_EQ(ts::sum(bytes()).dtype(), ts::u32);
  EXPECT_EQ(ts::trace(ts::full({3, 3}, 100, ts::i8)).item<int>(), 300);
  EXPECT_EQ(ts::trace(ts::full({3, 3}, 100, ts::i8)).dtype(), ts::i32);
}

TEST(Differences, PositionsOutside) {
  const Array outside = ts::array({5, -9});
  EXPECT_EQ(of<std::int32_t>(ints()[outside]), (Ints{0, 7}));
  EXPECT_EQ(of<std::int32_t>(ts::take(ints(), outside)), (Ints{INT32_MIN, INT32_MIN}));
  EXPECT_EQ(of<std::int32_t>(ints().at(outside).set(1)), (Ints{7, -7, 0}));
  EXPECT_THROW(ints()[5], ts::ShapeError);
}

TEST(Differences, NarrowPositions) {
  const Array thousand = ts::arange(1000);
  EXPECT_EQ(of<std::int32_t>(thousand[ts::array({-1}, ts::i8)]), (Ints{999}));
  EXPECT_EQ(of<std::int32_t>(ts::take(thousand, ts::array({4294967296 + 3}))), (Ints{INT32_MIN}));
}

TEST(Differences, RepeatedFactors) {
  const Array x = ts::array({2.0, 3.0}), at = ts::array({0, 1, 0, 0}),
              v = ts::array({5.0, 7.0, 11.0, 0.0});
  const auto f = [&](Array u, Array w) {
    return ts::sum(u.at(at).multiply(w) * ts::array({1.0, 10.0}));
  };
  EXPECT_EQ(of<float>(ts::grad<1>(f)(x, v)), (std::vector{0.f, 30.f, 0.f, 110.f}));
  EXPECT_EQ(of<float>(ts::grad(f)(x, v)), (std::vector{0.f, 70.f}));
  const Array w = ts::array({5.0, 7.0, 11.0, 13.0});
  EXPECT_EQ(of<float>(ts::grad<1>(f)(x, w)), (std::vector{286.f, 30.f, 130.f, 110.f}));
  // Ranges and positions name no element twice.
  const auto g = [&](Array u, Array s) { return ts::sum(u.at(ts::range(0, 2, 2)).multiply(s)); };
  EXPECT_EQ(of<float>(ts::grad<1>(g)(x, ts::array({0.0}))), (std::vector{2.f}));
}

TEST(Differences, ComparisonLabels) {
  const Array hot = ts::one_hot(ts::array({43, 255}, ts::u8), 300, ts::i32);
  EXPECT_EQ(ts::sum(hot, 1).to_vector<std::int32_t>(), (Ints{1, 1}));
  EXPECT_EQ(of<std::int32_t>(ts::sum(ts::one_hot(ts::array({300, -1}), 300, ts::i32), 1)),
            (Ints{0, 0}));
}

TEST(Differences, GreatestZeros) {
  NEEDS_CPU(equal_zeros);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const ts::TopK top = ts::top_k(ts::array(std::vector<float>{-0.f, -nan, 0.f, nan, 1.f}), 5);
  EXPECT_EQ(top.indices.to_vector<std::int32_t>(), (Ints{1, 3, 4, 0, 2}));
}

TEST(Differences, PowerOfZeroToZero) {
  const auto slope = [](Array n) {
    return ts::grad([n](Array x) { return ts::sum(ts::power(x, n)); })(ts::array({0.0, 2.0}));
  };
  EXPECT_EQ(of<float>(slope(ts::array({0.0, 0.0}))), (std::vector{0.f, 0.f}));
  EXPECT_EQ(of<float>(slope(ts::array({0, 0}))), (std::vector{0.f, 0.f}));
}

TEST(Differences, UntakenBranches) {
  const auto slope = [](auto f) {
    return ts::grad([f](Array x) { return ts::sum(f(x)); })(ts::array({0.0, 4.0}));
  };
  EXPECT_EQ(of<float>(slope([](Array x) { return ts::where(x > 0, ts::sqrt(x), 0); })),
            (std::vector{0.f, 0.25f}));
  EXPECT_EQ(of<float>(slope([](Array x) { return ts::maximum(ts::log(x), -1); })),
            (std::vector{0.f, 0.25f}));
  EXPECT_EQ(of<float>(slope([](Array x) { return ts::clip(1 / x, 0, 2); })),
            (std::vector{0.f, -0.0625f}));
  EXPECT_EQ(of<float>(slope([](Array x) { return ts::max(ts::log(x)); })),
            (std::vector{0.f, 0.25f}));
}

TEST(Differences, NormAtZero) {
  EXPECT_EQ(of<float>(ts::grad([](Array x) { return ts::norm(x); })(ts::zeros({2}))),
            (std::vector{0.f, 0.f}));
}

TEST(Differences, EqualEigenvalues) {
  const auto span = [](Array a) {
    const Array v = ts::linalg::eigh(a).eigenvectors;
    return ts::sum(ts::matmul(v, v.T()));
  };
  EXPECT_EQ(of<float>(ts::grad(span)(ts::eye(2))), (std::vector{0.f, 0.f, 0.f, 0.f}));
}

TEST(Differences, PartialShardMap) {
  ts::set_device_count(4);
  const ts::ShardMapOptions options{.mesh = ts::Mesh({{"data", 2}, {"model", 2}}),
                                    .in_specs = {ts::P("data")},
                                    .out_specs = ts::P(),
                                    .axis_names = {"data"}};
  const auto sum = [](Array rows) { return ts::psum(rows, "data"); };
  const Array x = ts::array({1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  EXPECT_EQ(of<float>(ts::shard_map(sum, options)(x)), (std::vector{5.f, 7.f, 9.f}));
  ts::ShardMapOptions untyped = options;
  untyped.check_vma = false;
  EXPECT_THROW(ts::shard_map(sum, untyped)(x), ts::ShardingError);
  const auto inside = [&](Array rows) { return ts::shard_map(sum, options)(rows); };
  EXPECT_THROW(ts::shard_map(inside, options)(ts::ones({4})), ts::ShardingError);
}

TEST(Differences, SortedPartitions) {
  const Array x = ts::array({5, 3, 9, 1});
  EXPECT_EQ(of<std::int32_t>(ts::partition(x, 0)), (Ints{1, 3, 5, 9}));
  EXPECT_EQ(of<std::int32_t>(ts::argpartition(x, 0)), (Ints{3, 1, 0, 2}));
}

TEST(Differences, ExactExtremes) {
  const Array x = ts::array({5, 3, 9, 1});
  EXPECT_EQ(of<std::int32_t>(ts::approx_max_k(x, 2).values), (Ints{9, 5}));
  EXPECT_EQ(of<std::int32_t>(ts::approx_min_k(x, 2).indices), (Ints{3, 1}));
}

TEST(Differences, SizesInTraces) {
  const Array x = ts::array({5, 0, 9, 5});
  EXPECT_EQ(of<std::int32_t>(ts::unique(x)), (Ints{0, 5, 9}));
  EXPECT_THROW(ts::jit([](Array v) { return ts::unique(v); })(x), ts::TraceError);
  const auto two = ts::jit([](Array v) { return ts::unique(v, {.size = 4}); });
  EXPECT_EQ(of<std::int32_t>(two(x)), (Ints{0, 5, 9, 0}));
}

TEST(Differences, PositionsOfInt32) {
  const Array x = ts::array({5, 0, 9, 5});
  EXPECT_EQ(ts::nonzero(x)[0].dtype(), ts::i32);
  EXPECT_EQ(ts::unique_all(x).counts.dtype(), ts::i32);
  EXPECT_EQ(ts::searchsorted(ts::arange(3), x).dtype(), ts::i32);
  EXPECT_EQ(ts::bincount(x).dtype(), ts::i32);
}

// This file has every row of the page, and no others.
TEST(Differences, ThePageHasTheseRows) {
  std::ifstream page(TESSERA_SOURCE_DIR "/docs/differences.md");
  ASSERT_TRUE(page);
  std::set<std::string> rows, cases;
  const std::regex name("^\\| `(\\w+)` \\|.*");
  for (std::string line; std::getline(page, line);)
    if (std::smatch m; std::regex_match(line, m, name)) rows.insert(m[1]);
  const testing::TestSuite* suite = testing::UnitTest::GetInstance()->current_test_suite();
  for (int i = 0; i < suite->total_test_count(); ++i) cases.insert(suite->GetTestInfo(i)->name());
  cases.erase("ThePageHasTheseRows");
  EXPECT_EQ(rows, cases);
}

}  // namespace
