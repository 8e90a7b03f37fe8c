// Results that are in range although intermediate values are not, and limits next to infinities.
#include "only_cpu.h"

#include <tessera/constants.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/linalg.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/reductions.h>
#include <tessera/statistics.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>

namespace ts = tessera;
using ts::Array;

namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Elements are equal, or both are NaN.
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == expected[i] || (got[i] != got[i] && expected[i] != expected[i]))
        << "element " << i << ": " << got[i] << " for " << expected[i];
}

TEST(Range, NormsOfVeryLargeAndVerySmallNumbers) {
  NEEDS_CPU(subnormals);
  // 3-4-5 triangles, by powers of two: every step is exact.
  for (const int e : {-140, -100, -60, 0, 60, 100, 125}) {
    const float p = std::ldexp(1.0f, e);
    const Array x(Floats{3 * p, -4 * p});
    EXPECT_EQ(ts::norm(x).item<float>(), 5 * p) << "2^" << e;
    EXPECT_EQ(ts::jit([](Array v) { return ts::norm(v); })(x).item<float>(), 5 * p) << "2^" << e;
    EXPECT_EQ(ts::norm(x, {.axis = 0, .ord = 2}).item<float>(), 5 * p) << "2^" << e;
    if (e < -120) continue;  // the quotients of subnormal numbers have few digits
    EXPECT_EQ(ts::grad([](Array v) { return ts::norm(v); })(x).to_vector<float>(),
              (Floats{0.6f, -0.8f}))
        << "2^" << e;
  }
  for (const int e : {-1070, -700, -300, 0, 300, 700, 1020}) {
    const double p = std::ldexp(1.0, e);
    EXPECT_EQ(ts::norm(Array(Doubles{3 * p, -4 * p})).item<double>(), 5 * p) << "2^" << e;
  }
  const Array rows(Floats{3e30f, 4e30f, 3e-30f, 4e-30f, 3, 4}, {3, 2});
  const Floats roots = ts::norm(rows, {.axis = 1}).to_vector<float>();
  EXPECT_FLOAT_EQ(roots[0], 5e30f);
  EXPECT_FLOAT_EQ(roots[1], 5e-30f);
  EXPECT_EQ(roots[2], 5);
  EXPECT_FLOAT_EQ(ts::norm(Array(std::vector<std::complex<float>>{{3e30f, 4e30f}})).item<float>(),
                  5e30f);
}

TEST(Range, NormsOfInfinitiesZerosAndNothing) {
  EXPECT_EQ(ts::norm(Array(Floats{1, -kInf})).item<float>(), kInf);
  EXPECT_TRUE(std::isnan(ts::norm(Array(Floats{kNan, kInf})).item<float>()));
  EXPECT_EQ(ts::norm(ts::zeros({3})).item<float>(), 0);
  EXPECT_EQ(ts::norm(ts::zeros({0})).item<float>(), 0);
  EXPECT_EQ(ts::grad([](Array v) { return ts::norm(v); })(ts::zeros({2})).to_vector<float>(),
            (Floats{0, 0}));
}

TEST(Range, SecondDerivativeOfTheNorm) {
  // (I - u u') / |x| for u = x / |x|.
  for (const double p : {1.0, 0x1p600, 0x1p-500}) {
    const Array h = ts::hessian([](Array v) { return ts::norm(v); })(Array(Doubles{3 * p, 4 * p}));
    const Doubles got = ts::ravel(h * p).to_vector<double>(), want{0.128, -0.096, -0.096, 0.072};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], want[i], 1e-14) << p;
  }
}

TEST(Range, DeviationsWhoseSquaresAreOutOfRange) {
  const Floats deviations =
      ts::std(Array(Floats{1e30f, -1e30f, 2e-30f, -2e-30f, 3, -3}, {3, 2}), {.axis = 1})
          .to_vector<float>();
  EXPECT_EQ(deviations, (Floats{1e30f, 2e-30f, 3}));
  EXPECT_EQ(ts::std(Array(Floats{1e30f, 5, -1e30f}),
                    {.where = Array(std::vector<bool>{true, false, true})})
                .item<float>(),
            1e30f);
  EXPECT_EQ(ts::std(Array(Doubles{1e300, -1e300})).item<double>(), 1e300);
  const auto slope = ts::grad([](Array v) { return ts::std(v); });
  EXPECT_EQ(slope(Array(Floats{1e30f, -1e30f})).to_vector<float>(), (Floats{0.5f, -0.5f}));
  EXPECT_EQ(slope(Array(Floats{1, -1})).to_vector<float>(), (Floats{0.5f, -0.5f}));
}

TEST(Range, SquaresOfComplexNumbersNearTheGreatest) {
  NEEDS_CPU(same_bits);
  using Complex = std::complex<float>;
  const std::vector<Complex> z{{1.5e19f, 1.5e19f}, {1e30f, 1e-30f}, {1.9e19f, 1e19f}, {3, 2}};
  const auto expected = [](Complex v) {
    return Complex((v.real() - v.imag()) * (v.real() + v.imag()),
                   v.real() * v.imag() + v.imag() * v.real());
  };
  const Array x(z);
  const std::map<std::string, std::function<Array(Array)>> ways{
      {"square", [](Array v) { return ts::square(v); }},
      {"x * x", [](Array v) { return v * v; }},
      {"x * copy",
       [](Array v) {
         return v * ts::reshape(ts::reshape(v, {2, 2}), {4});
       }},
      {"power", [](Array v) { return ts::power(v, 2); }}};
  for (const auto& [name, f] : ways)
    for (const auto& run : {f, std::function<Array(Array)>(ts::jit(f))}) {
      const auto got = run(x).to_vector<Complex>();
      for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(got[i], expected(z[i])) << name << i;
    }
}

TEST(Limits, TheDerivativeOfLogsumexpOfNothingIsZero) {
  const auto f = [](Array x) { return ts::sum(ts::logsumexp(x, {.axis = 1})); };
  const Array x(Floats{-kInf, -kInf, -kInf, 2, 0, 0}, {3, 2});
  expect_same(ts::logsumexp(x, {.axis = 1}).to_vector<float>(), {-kInf, 2, std::log(2.0f)});
  EXPECT_EQ(ts::grad(f)(x).to_vector<float>(), (Floats{0, 0, 0, 1, 0.5f, 0.5f}));
  EXPECT_EQ(ts::jit(ts::grad(f))(x).to_vector<float>(), (Floats{0, 0, 0, 1, 0.5f, 0.5f}));
  const auto none = [](Array v) {
    return ts::logsumexp(v, {.where = Array(std::vector<bool>{false, false})});
  };
  EXPECT_EQ(ts::grad(none)(Array(Floats{1, 2})).to_vector<float>(), (Floats{0, 0}));
}

TEST(Limits, QuantilesBesideInfinities) {
  const Array x(Floats{-kInf, -kInf, 1, 3, kInf, kInf, kInf, kInf, kInf});
  const Array q(Doubles{0, 0.0625, 0.125, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.53125, 1});
  expect_same(ts::quantile(x, q.astype(ts::f32)).to_vector<float>(),
              {-kInf, -kInf, -kInf, 1, 2, 3, kInf, kInf, kInf, kInf});
  EXPECT_EQ(ts::median(Array(Floats{kInf, 1, kInf})).item<float>(), kInf);
  EXPECT_EQ(ts::quantile(Array(Floats{1, 2, kInf}), 0.5).item<float>(), 2);
  // Between the two infinities there is no number.
  expect_same(
      ts::quantile(Array(Floats{-kInf, kInf}), Array(Floats{0, 0.5f, 1})).to_vector<float>(),
      {-kInf, kNan, kInf});
  EXPECT_EQ(ts::nanquantile(Array(Floats{kNan, 1, 2, kInf}), 0.5).item<float>(), 2);
  const auto middle = [](Array v) { return ts::quantile(v, 0.5); };
  EXPECT_EQ(ts::grad(middle)(Array(Floats{1, 2, kInf})).to_vector<float>(), (Floats{0, 1, 0}));
}

}  // namespace
