// Properties of NumPy's functions that the golden cases do not cover: functions of functions and
// trees, limits, complex numbers, and programs whose size does not grow with arrays.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <complex>
#include <limits>

namespace ts = tessera;
using ts::Array;

namespace {

std::vector<float> floats(const Array& x) { return x.to_vector<float>(); }
std::vector<std::int32_t> whole(const Array& x) { return x.to_vector<std::int32_t>(); }
using Complex = std::complex<float>;
std::vector<Complex> complexes(const Array& x) { return x.to_vector<Complex>(); }

// As in NumPy, repeat flattens, and the trace is that of the first two axes.
TEST(Names, AxesThatAreLeftOut) {
  using Whole = std::vector<std::int32_t>;
  const Array x = ts::arange(24).reshape({2, 3, 4}), m = ts::arange(6).reshape({2, 3});
  EXPECT_EQ(ts::repeat(m, 2).shape(), ts::Shape{12});
  EXPECT_EQ(whole(ts::repeat(m, 2)), (Whole{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(ts::repeat(x, 3).shape(), ts::Shape{72});
  EXPECT_EQ(whole(ts::repeat(x, 3)[ts::range(33, 39)]), (Whole{11, 11, 11, 12, 12, 12}));
  EXPECT_EQ(ts::repeat(m, 0).shape(), ts::Shape{0});
  EXPECT_EQ(whole(ts::repeat(Array(7), 3)), (Whole{7, 7, 7}));
  EXPECT_EQ(ts::trace(x).shape(), ts::Shape{4});
  EXPECT_EQ(whole(ts::trace(x)), (Whole{16, 18, 20, 22}));
  EXPECT_EQ(whole(ts::trace(x, 1)), (Whole{24, 26, 28, 30}));
  EXPECT_EQ(whole(ts::trace(x, 2)), (Whole{8, 9, 10, 11}));
  EXPECT_EQ(whole(ts::trace(x, -1)), (Whole{12, 13, 14, 15}));
  EXPECT_EQ(whole(ts::trace(x, 0, 1, 2)), (Whole{15, 51}));
  const auto jitted = ts::jit([](Array v) { return std::pair(ts::trace(v), ts::repeat(v, 2)); })(x);
  EXPECT_EQ(whole(jitted.first), (Whole{16, 18, 20, 22}));
  EXPECT_EQ(jitted.second.shape(), ts::Shape{48});
  // Under vmap the axes are those of an example.
  EXPECT_EQ(whole(ts::vmap([](Array v) { return ts::trace(v); })(x)), (Whole{15, 51}));
  EXPECT_EQ(ts::vmap([](Array v) { return ts::repeat(v, 2); })(x).shape(), (ts::Shape{2, 24}));
}

TEST(Names, LimitsAreTheCompilersOwn) {
  EXPECT_EQ(ts::iinfo(ts::i8).min, -128);
  EXPECT_EQ(ts::iinfo(ts::i64).min, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(ts::iinfo(ts::i64).max, 9223372036854775807u);
  EXPECT_EQ(ts::iinfo(ts::u64).max, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(ts::iinfo(ts::u8).min, 0);
  EXPECT_EQ(ts::iinfo(ts::u8).bits, 8);
  const auto is = [](const ts::finfo& f, auto limits) {
    EXPECT_EQ(f.eps, static_cast<double>(limits.epsilon()));
    EXPECT_EQ(f.max, static_cast<double>(limits.max()));
    EXPECT_EQ(f.min, static_cast<double>(limits.lowest()));
    EXPECT_EQ(f.tiny, static_cast<double>(limits.min()));
    EXPECT_EQ(f.smallest_subnormal, static_cast<double>(limits.denorm_min()));
    EXPECT_EQ(f.precision, limits.digits10);
    EXPECT_EQ(f.maxexp, limits.max_exponent);
  };
  is(ts::finfo(ts::f32), std::numeric_limits<float>());
  is(ts::finfo(ts::c64), std::numeric_limits<float>());
  is(ts::finfo(ts::f64), std::numeric_limits<double>());
  EXPECT_EQ(ts::finfo(ts::f16).max, 65504);
  EXPECT_EQ(ts::finfo(ts::bf16).eps, 0x1p-7);
}

TEST(Names, FunctionsAlongAnAxis) {
  const Array x = ts::arange(6).reshape(2, 3);
  EXPECT_EQ(whole(ts::apply_along_axis([](Array v) { return ts::sum(v); }, 0, x)),
            (std::vector{3, 5, 7}));
  const Array y = ts::apply_along_axis([](Array v) { return ts::stack({v, v + 10}); }, 1, x);
  EXPECT_EQ(y.shape(), (ts::Shape{2, 2, 3}));
  EXPECT_EQ(whole(y(1, 1)), (std::vector{13, 14, 15}));
  const Array z = ts::apply_along_axis([](Array v) { return ts::stack({v, v + 10}); }, 0, x);
  EXPECT_EQ(z.shape(), (ts::Shape{2, 2, 3}));
  EXPECT_EQ(whole(z(1, 1)), (std::vector{13, 14, 15}));
}

TEST(Names, Piecewise) {
  const Array x = ts::array({-2.f, 0.f, 3.f});
  const auto r = ts::piecewise(
      x, {x<0, x> 0},
      {[](Array v) { return -v; }, [](Array v) { return v * 2; }, [](Array v) { return v + 7; }});
  EXPECT_EQ(floats(r), (std::vector<float>{2, 7, 6}));
}

TEST(Names, VectorizedFunctionsBroadcast) {
  const auto product =
      ts::vectorize([](Array m, Array v) { return ts::dot(m, v); }, "(n,m),(m)->(n)");
  const Array m = ts::arange(12).reshape(2, 1, 2, 3), v = ts::arange(9).reshape(3, 3);
  const Array r = product(m, v);
  EXPECT_EQ(r.shape(), (ts::Shape{2, 3, 2}));
  EXPECT_TRUE(static_cast<bool>(ts::array_equal(r, ts::einsum("aqij,bj->abi", m, v))));
  const auto scalar = ts::vectorize([](Array a, Array b) { return a * b; });
  EXPECT_EQ(whole(scalar(ts::arange(3), 2)), (std::vector{0, 2, 4}));
}

TEST(Names, TransposeOfALinearFunction) {
  const Array w = ts::array({{1.f, 2.f}, {3.f, 4.f}});
  const auto t = ts::linear_transpose([&](Array x) { return ts::dot(w, x); }, ts::ones({2}));
  EXPECT_EQ(floats(t(ts::array({1.f, 10.f}))), (std::vector<float>{31, 42}));
}

TEST(Names, TreesByTheirLeaves) {
  struct Pair {
    Array a, b, none;
  };
  const Pair p{ts::array({1, 2}), ts::array({3}), {}};
  const auto leaves = ts::tree::leaves_with_path(p);
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_EQ(leaves[1].first, "b");
  EXPECT_EQ(ts::tree::flatten_with_path(p).leaves.size(), 2u);
  EXPECT_EQ(ts::tree::reduce([](std::int64_t n, const Array& x) { return n + x.size(); }, p,
                             std::int64_t{0}),
            3);
  EXPECT_TRUE(ts::tree::all(ts::tree::map([](Array x) { return ts::all(x > 0); }, p)));
  EXPECT_FALSE(ts::tree::all(ts::tree::map([](Array x) { return ts::all(x > 1); }, p)));
}

TEST(Names, ComplexNumbers) {
  const Array z = ts::array({Complex(1, 2), Complex(0, -1), Complex(3, 0)});
  const Array w = ts::array({Complex(2, 0), Complex(1, 1), Complex(0, 1)});
  EXPECT_EQ(ts::vdot(z, w).item<Complex>(), Complex(2 - 1, -4 + 1 + 3));
  EXPECT_EQ(complexes(ts::cross(z, w))[0],
            Complex(0, -1) * Complex(0, 1) - Complex(3, 0) * Complex(1, 1));
  EXPECT_EQ(complexes(ts::kron(z, w))[4], Complex(0, -1) * Complex(1, 1));
  EXPECT_EQ(complexes(ts::polyval(z, Complex(0, 1)))[0],
            (Complex(1, 2) * Complex(0, 1) + Complex(0, -1)) * Complex(0, 1) + Complex(3, 0));
  EXPECT_EQ(complexes(ts::convolve(z, w))[1],
            Complex(1, 2) * Complex(1, 1) + Complex(0, -1) * Complex(2, 0));
  EXPECT_EQ(complexes(ts::unique(ts::concatenate({z, z}))).size(), 3u);
  EXPECT_EQ(complexes(ts::nansum(z))[0], Complex(4, 1));
  EXPECT_EQ(complexes(ts::rot90(ts::stack({z, w})))[0], Complex(3, 0));
}

// Programs that sort, search and count many elements are as large as those for few.
TEST(Names, ProgramsDoNotGrowWithArrays) {
  const auto size = [](auto f, std::int64_t n) {
    return ts::make_ir(f)(ts::abstract(ts::f32, {n}), ts::abstract(ts::f32, {n})).size();
  };
  const auto grows = [&](auto f) {
    return static_cast<double>(size(f, 4000000)) / static_cast<double>(size(f, 40));
  };
  EXPECT_LT(grows([](Array x, Array y) { return ts::searchsorted(x, y); }), 1.3);
  EXPECT_LT(grows([](Array x, Array) { return ts::unique(x, {.size = 10}); }), 1.3);
  EXPECT_LT(grows([](Array x, Array y) { return ts::isin(x, y); }), 1.3);
  EXPECT_LT(grows([](Array x, Array y) { return ts::intersect1d(x, y, {.size = 10}); }), 1.3);
  EXPECT_LT(grows([](Array x, Array y) { return ts::interp(x, x, y); }), 1.3);
  EXPECT_LT(grows([](Array x, Array) { return ts::median(x); }), 1.3);
  EXPECT_LT(grows([](Array x, Array) { return ts::histogram(x).counts; }), 1.3);
  EXPECT_LT(grows([](Array x, Array y) { return ts::polyval(x, y); }), 1.3);
}

}  // namespace
