// Derivatives at the special points of functions: zeros, infinities, kinks. They are those of JAX
// 0.10 if it gives a number, except for logaddexp, whose weights there do not add up to 1.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace ts = tessera;
using ts::Array;

namespace {

constexpr double kInf = INFINITY;

using Binary = std::function<Array(Array, Array)>;
struct Derivatives {
  double dx, dy;
};

double scalar(const Array& x) { return x.item<double>(); }

// Forward and reverse mode agree for each dtype.
void expect_derivatives(const Binary& f, double x, double y, Derivatives expected) {
  for (ts::DType d : {ts::f32, ts::f64}) {
    SCOPED_TRACE(std::to_string(x) + ", " + std::to_string(y) + " in " + to_string(d));
    const Array a = ts::array(x, d), b = ts::array(y, d), one = ts::array(1.0, d);
    auto [gx, gy] = ts::grad<0, 1>([&](Array u, Array v) { return f(u, v); })(a, b);
    auto [vx, tx] = ts::jvp([&](Array u) { return f(u, b); }, std::tuple(a), std::tuple(one));
    auto [vy, ty] = ts::jvp([&](Array v) { return f(a, v); }, std::tuple(b), std::tuple(one));
    auto check = [](const Array& got, double e) {
      if (std::isnan(e))
        EXPECT_TRUE(std::isnan(scalar(got))) << scalar(got);
      else if (std::isinf(e))
        EXPECT_EQ(scalar(got), e);
      else
        EXPECT_NEAR(scalar(got), e, 1e-6 * std::max(1.0, std::fabs(e)));
    };
    check(gx, expected.dx);
    check(gy, expected.dy);
    check(tx, expected.dx);
    check(ty, expected.dy);
  }
}

}  // namespace

TEST(SpecialPoints, Logaddexp) {
  Binary f = [](Array x, Array y) { return ts::logaddexp(x, y); };
  expect_derivatives(f, kInf, kInf, {0.5, 0.5});
  expect_derivatives(f, -kInf, -kInf, {0.5, 0.5});
  expect_derivatives(f, kInf, 1, {1, 0});
  expect_derivatives(f, 1, kInf, {0, 1});
  expect_derivatives(f, kInf, -kInf, {1, 0});
  expect_derivatives(f, -kInf, 0, {0, 1});
  expect_derivatives(f, 2, 2, {0.5, 0.5});
  expect_derivatives(f, 0, std::log(3), {0.25, 0.75});
  expect_derivatives(f, NAN, 0, {NAN, NAN});
}

TEST(SpecialPoints, LogaddexpIsSmoothWhereOperandsAreEqual) {
  auto f = [](Array x) { return ts::logaddexp(x, 0.0); };
  auto second = ts::grad([&](Array x) { return ts::grad(f)(x); });
  EXPECT_NEAR(second(ts::array(0.0)).item<float>(), 0.25, 1e-6);
  EXPECT_NEAR(ts::grad([&](Array x) { return second(x); })(ts::array(0.0)).item<float>(), 0, 1e-6);
}

TEST(SpecialPoints, Hypot) {
  Binary f = [](Array x, Array y) { return ts::hypot(x, y); };
  const double root = std::sqrt(0.5);
  expect_derivatives(f, 0, 0, {0.5, 0.5});
  expect_derivatives(f, 3, 3, {root, root});
  expect_derivatives(f, -3, 4, {-0.6, 0.8});
  expect_derivatives(f, 0, 2, {0, 1});
  expect_derivatives(f, 1e30, 1e30, {root, root});  // squares would overflow
  expect_derivatives(f, 1e-30, 1e-30, {root, root});
  expect_derivatives(f, -kInf, 1, {-1, 0});
  expect_derivatives(f, 1, kInf, {0, 1});
}

TEST(SpecialPoints, Arctan2) {
  Binary f = [](Array y, Array x) { return ts::arctan2(y, x); };
  expect_derivatives(f, 0, 1, {1, 0});
  expect_derivatives(f, 0, -1, {-1, 0});
  expect_derivatives(f, 0, 0, {NAN, NAN});
  expect_derivatives(f, kInf, 1, {0, 0});
  expect_derivatives(f, 1, -kInf, {0, 0});
  expect_derivatives(f, 1e30, 1e30, {5e-31, -5e-31});
  expect_derivatives(f, 1e-30, 1e-30, {5e29, -5e29});
}

TEST(SpecialPoints, PowerOfArrays) {
  Binary f = [](Array x, Array y) { return ts::power(x, y); };
  expect_derivatives(f, 0, 0, {0, 0});
  expect_derivatives(f, 0, 1, {1, 0});
  expect_derivatives(f, 0, 2, {0, 0});
  expect_derivatives(f, 0, 0.5, {kInf, 0});
  expect_derivatives(f, -2, 3, {12, NAN});
  expect_derivatives(f, -2, 2, {-4, NAN});
  expect_derivatives(f, kInf, 0, {0, kInf});
}

TEST(SpecialPoints, PowerOfIntegerExponents) {
  const std::vector<double> bases{0.0, -0.0, -2.0, 2.0, kInf, -kInf};
  for (int n : {0, 1, 2, 3, 4, -1, -2})
    for (double x : bases) {
      SCOPED_TRACE(std::to_string(x) + " to the power " + std::to_string(n));
      const double expected = n == 0 ? 0 : n * std::pow(x, n - 1);
      const Array exponent = ts::array({n});
      auto of_array = [&](Array v) { return ts::sum(ts::power(v, exponent)); };
      auto of_number = [&](Array v) { return ts::sum(ts::power(v, n)); };
      const Array at = ts::array({x});
      EXPECT_EQ(ts::grad(of_array)(at).item<float>(), expected);
      EXPECT_EQ(ts::grad(of_number)(at).item<float>(), expected);
      auto [v, t] = ts::jvp(of_array, std::tuple(at), std::tuple(ts::array({1.0})));
      EXPECT_EQ(t.item<float>(), expected);
    }
  // The second derivative at 0 of x^0, x^1, x^2, x^3.
  const Array exponents = ts::array({0, 1, 2, 3});
  auto second = ts::grad([&](Array x) {
    return ts::sum(ts::grad([&](Array y) { return ts::sum(ts::power(y, exponents)); })(x));
  });
  EXPECT_EQ(second(ts::zeros({4})).to_vector<float>(), (std::vector<float>{0, 0, 2, 0}));
}
