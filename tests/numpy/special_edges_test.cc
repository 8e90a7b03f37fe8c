// At zeros, poles, infinities and NaN, special functions have their limits as values, if these
// exist.
#include "only_cpu.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ts = tessera;
using ts::Array;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Doubles = std::vector<double>;

Array of(const Doubles& v) { return Array(v, {static_cast<std::int64_t>(v.size())}); }

// Values are equal to the expected ones rounded to T, and NaN where NaN is expected.
template <class T>
void same(const Array& got, const Doubles& expected) {
  const auto values = ts::astype(got, ts::f64).to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double rounded = static_cast<double>(static_cast<T>(expected[i]));
    if (std::isnan(rounded))
      EXPECT_TRUE(std::isnan(values[i])) << i << ": " << values[i];
    else
      EXPECT_EQ(values[i], rounded) << i;
  }
}

template <class F>
void check(F f, const Doubles& expected, const Doubles& x) {
  same<double>(f(of(x)), expected);
  same<float>(f(ts::astype(of(x), ts::f32)), expected);
}
template <class F>
void check(F f, const Doubles& expected, const Doubles& x, const Doubles& y) {
  same<double>(f(of(x), of(y)), expected);
  same<float>(f(ts::astype(of(x), ts::f32), ts::astype(of(y), ts::f32)), expected);
}

TEST(SpecialEdges, OfTheGammaFunction) {
  NEEDS_CPU(same_bits);
  check([](Array x) { return ts::gammasgn(x); }, {1, -1, kNan, -1, 1, -1, 1, kNan, kNan},
        {0.0, -0.0, -1, -0.5, -1.5, -2.5, kInf, -kInf, kNan});
  check([](Array x) { return ts::gamma(x); }, {kInf, -kInf, kNan, kInf, kNan, kNan},
        {0.0, -0.0, -1, kInf, -kInf, kNan});
  check([](Array x) { return ts::factorial(x); }, {1, 1, 120, 0, 0, kInf, kNan},
        {0, 1, 5, -1, -1.5, kInf, kNan});
  check([](Array z, Array m) { return ts::poch(z, m); }, {1, 24, 0, 0.75, 0.5, 1, 6, kNan},
        {1, 2, 0, -1.5, 3, -2, -3, kNan}, {0, 3, 2, 2, -1, 0, 2, 1});
  check([](Array n, Array k) { return ts::comb(n, k); }, {10, 0, 0, 0, 2598960, 1, kNan},
        {5, 5, 5, -1, 52, 0, kNan}, {2, 6, -1, 2, 5, 0, 1});
  check([](Array a, Array b) { return ts::beta(a, b); }, {1, kInf, kNan, kNan}, {1, 0, -1, kNan},
        {1, 1, 2, 1});
}

// An element that is NaN or infinite does not affect the others.
TEST(SpecialEdges, AreOfTheirElementAlone) {
  const Doubles odd{kNan, kInf, -kInf, 1e308, 1e308, 0.25};
  const auto last = [&](auto&& f) {
    const auto all = f(of(odd)).template to_vector<double>();
    const auto one = f(of({0.25})).template to_vector<double>();
    EXPECT_EQ(all.back(), one[0]);
    EXPECT_FALSE(std::isnan(one[0]));
  };
  last([](Array x) { return ts::expi(x); });
  last([](Array x) { return ts::exp1(x); });
  last([](Array x) { return ts::gammainc(x, 0.5); });
  last([](Array x) { return ts::gammaincc(0.5, x); });
  last([](Array x) { return ts::betainc(x, 2.0, 0.5); });
  last([](Array x) { return ts::betainc(2.0, 3.0, x); });
  last([](Array x) { return ts::hyp1f1(x, 2.0, 0.5); });
  last([](Array x) { return ts::hyp2f1(-2.0, 2.0, 1.5, x); });
}
TEST(SpecialEdges, OfTheIncompleteBetaFunction) {
  // Limits where a parameter is 0 or infinite.
  const auto at = [](double a, double b, double x, double expected) {
    check([&](Array v) { return ts::betainc(a, b, v); }, {expected}, {x});
  };
  at(0, 2, 0.5, 1), at(2, 0, 0.5, 0), at(2, 0, 1, 1), at(kInf, 2, 0.5, 0), at(2, kInf, 0.5, 1);
  at(2, kInf, 0, 0), at(0, 0, 0.5, kNan), at(kInf, kInf, 0.5, kNan), at(2, 2, 1.5, kNan);
  const auto tiny = ts::betainc(of({1e-200, 1e-300}), of({1e-207, 3e-300}), of({0.65, 0.75}));
  EXPECT_NEAR(tiny[0].item<double>() / 1e-7, 1, 1e-6);
  EXPECT_NEAR(tiny[1].item<double>(), 0.75, 1e-15);
}
TEST(SpecialEdges, OfPowersThatVanish) {
  check([](Array x, Array p) { return ts::boxcox1p(x, p); }, {1e-30, 1e-30, 1e-30, 0},
        {1e-30, 1e-30, 1e-30, 0}, {0, 1e-20, -1e-20, 1e-30});
  check([](Array z, Array m) { return ts::poch(z, m); }, {0, 0, kInf}, {-50, -3, 1},
        {1e-30, 0.5, -5});
  EXPECT_NEAR(ts::poch(of({1e-30}), of({-5.0}))[0].item<double>(), -1.0 / 120, 1e-17);
  check([](Array n, Array k) { return ts::comb(n, k); }, {kInf, 1, kInf}, {kInf, kInf, 1e30},
        {2, 0, 1e20});
  check([](Array x, Array y) { return ts::kl_div(x, y); }, {kInf, kInf, kInf, kInf, kNan, 2},
        {150, 150, -1, 1, kNan, 0}, {-kInf, -1, 2, 0, 1, 2});
}

TEST(SpecialEdges, OfTheIntegrals) {
  check([](Array x) { return ts::expi(x); }, {-kInf, -kInf, kInf, 0, kNan},
        {0.0, -0.0, kInf, -kInf, kNan});
  check([](Array x) { return ts::exp1(x); }, {kInf, kNan, 0, kNan}, {0, -1, kInf, kNan});
  check([](Array x) { return ts::expn(0, x); }, {kInf, kNan, 0, kNan}, {0, -1, kInf, kNan});
  check([](Array x) { return ts::expn(1, x); }, {kInf, kNan, 0, kNan}, {0, -1, kInf, kNan});
  check([](Array x) { return ts::expn(3, x); }, {0.5, kNan, 0, 0, kNan}, {0, -1, kInf, 900, kNan});
  check([](Array x) { return ts::spence(x); }, {1.6449340668482264, 0, kNan, -kInf, kNan},
        {0, 1, -1, kInf, kNan});
  check([](Array x) { return ts::erfcx(x); }, {kInf, 1, 0, kInf, kNan},
        {-30, 0, kInf, -kInf, kNan});
  check([](Array x) { return ts::dawsn(x); }, {0, 0, 0, kNan}, {0, kInf, -kInf, kNan});
}

// The values are those of SciPy 1.17, except for the signs of zeros, which odd functions keep here,
// and for loggamma at infinities, where SciPy has NaN instead of inf.
TEST(SpecialEdges, OfFresnelAndItsLike) {
  const Doubles ends{0.0, -0.0, kInf, -kInf, kNan};
  check([](Array x) { return ts::sici(x).first; },
        {0.0, -0.0, 1.5707963267948966, -1.5707963267948966, kNan}, ends);
  check([](Array x) { return ts::sici(x).second; }, {-kInf, -kInf, 0, kNan, kNan}, ends);
  check([](Array x) { return ts::fresnel(x).first; }, {0.0, -0.0, 0.5, -0.5, kNan}, ends);
  check([](Array x) { return ts::fresnel(x).second; }, {0.0, -0.0, 0.5, -0.5, kNan}, ends);
  check([](Array x) { return ts::loggamma(x); }, {kInf, kInf, kInf, kNan, kNan}, ends);
  check([](Array h, Array a) { return ts::owens_t(h, a); },
        {0, -0.0, 0.25, 0.125, 0, 0, kNan, kNan}, {1, 1, 0, 0, kInf, 1e3, kNan, 1},
        {0.0, -0.0, kInf, 1, 1, kInf, 1, kNan});
  check([](Array x) { return ts::bessel_jn(x, 2)[0]; }, {1, 1, 0, 0, kNan}, ends);
  check([](Array x) { return ts::bessel_jn(x, 2)[2]; }, {0, 0, 0, 0, kNan}, ends);
}

TEST(SpecialEdges, OfHypergeometricFunctions) {
  const auto kummer = [](const Doubles& a, const Doubles& b, const Doubles& x) {
    return ts::hyp1f1(of(a), of(b), of(x));
  };
  // If the series ends before a pole, it is a polynomial, and its sums are exact.
  same<double>(kummer({0, 2, -1, -1, -2, 1.5, 1.5, 1}, {0, 2, -3, -1, -1, 0, -2, 2},
                      {3, 0, 1.5, 0, 1.5, 1, 1, kNan}),
               {1, 1, 1.5, 1, kInf, kInf, kInf, kNan});
  const auto gauss = [](const Doubles& a, const Doubles& b, const Doubles& c, const Doubles& x) {
    return ts::hyp2f1(of(a), of(b), of(c), of(x));
  };
  same<double>(gauss({1, 0, 1, 1, -3, -1, 1, 1, 1}, {2, 5, 2, 1, 1, 2, 1, 1, 1},
                     {3, 2, 3, 2, 1, -2, -1, 3, 1}, {0, 7, 2, 1, 3, 0.5, 0.5, 1, kNan}),
               {1, 1, kInf, kInf, -8, 1.5, kInf, 2, kNan});
}

TEST(SpecialEdges, OfSphericalHarmonics) {
  const auto of_degrees = [](int n, int m, double theta) {
    return ts::real(ts::sph_harm_y(Array(n), Array(m), of({theta}), 0.0)).to_vector<double>()[0];
  };
  EXPECT_DOUBLE_EQ(of_degrees(0, 0, 1), 0.28209479177387814);
  EXPECT_DOUBLE_EQ(of_degrees(1, 0, 0), 0.48860251190291992);
  EXPECT_EQ(of_degrees(1, 2, 1), 0);
  EXPECT_EQ(of_degrees(3, 1, 0), 0);
  EXPECT_TRUE(std::isnan(of_degrees(-1, 0, 1)));
  // At order 1000 the product of sines is 2^-1758 and would underflow, although the result is of
  // ordinary size.
  const double high = of_degrees(2000, 1000, 0.6);
  EXPECT_TRUE(std::isfinite(high) && std::fabs(high) > 1e-3) << high;
}

// The derivative of 2 f f' is 2 f'^2 + 2 f f'': a rule whose value had no derivative of its own
// would lose the first.
template <class F>
void check_second(F f, double x, double value, double first, double second) {
  const auto twice =
      ts::grad([&](Array v) { return ts::grad([&](Array u) { return f(u) * f(u); })(v); });
  EXPECT_NEAR(twice(ts::asarray(x, ts::f64)).template item<double>(),
              2 * first * first + 2 * value * second, 1e-12 * first * first);
}
TEST(SpecialEdges, ValuesOfRulesHaveDerivatives) {
  const double pi = std::acos(-1.0), c = std::cos(pi * 0.045), s = std::sin(pi * 0.045);
  // The values at 0.3 were computed to 17 digits by mpmath 1.3.
  check_second([](Array x) { return ts::fresnel(x).second; }, 0.3, 0.2994009760520472, c,
               -pi * 0.3 * s);
  check_second([](Array x) { return ts::sici(x).first; }, 0.3, 0.29850404380704315,
               std::sin(0.3) / 0.3, (0.3 * std::cos(0.3) - std::sin(0.3)) / 0.09);
  check_second([](Array x) { return ts::spence(x); }, 0.3, 0.88937762428603876, std::log(0.3) / 0.7,
               1 / (0.3 * 0.7) + std::log(0.3) / 0.49);
  check_second([](Array x) { return ts::gammainc(1.0, x); }, 0.3, -std::expm1(-0.3), std::exp(-0.3),
               -std::exp(-0.3));
  check_second([](Array x) { return ts::betainc(2.0, 1.0, x); }, 0.3, 0.09, 0.6, 2);
  check_second([](Array x) { return ts::kl_div(x, 1.0); }, 0.3, 0.3 * std::log(0.3) + 0.7,
               std::log(0.3), 1 / 0.3);
  check_second([](Array x) { return ts::betaln(x, 1.0); }, 0.3, -std::log(0.3), -1 / 0.3, 1 / 0.09);
}

TEST(SpecialEdges, OfPowers) {
  check([](Array x, Array p) { return ts::boxcox(x, p); }, {-kInf, 0, kNan, -1, kInf, kNan},
        {0, 1, -1, 0, kInf, 2}, {0, 0, 2.5, 1, 0, kNan});
  check([](Array x, Array p) { return ts::boxcox1p(x, p); }, {0, -kInf, 3, kInf}, {0, -1, 3, kInf},
        {0, 0, 1, 0});
}

TEST(SpecialEdges, BernoulliNumbersAreTheFractions) {
  const Doubles fractions{1,
                          -0.5,
                          1.0 / 6,
                          0,
                          -1.0 / 30,
                          0,
                          1.0 / 42,
                          0,
                          -1.0 / 30,
                          0,
                          5.0 / 66,
                          0,
                          -691.0 / 2730,
                          0,
                          7.0 / 6,
                          0,
                          -3617.0 / 510,
                          0,
                          43867.0 / 798,
                          0,
                          -174611.0 / 330};
  same<float>(ts::bernoulli(20), fractions);
  same<double>(ts::bernoulli(20, ts::f64), fractions);
  same<float>(ts::bernoulli(0), {1});
  same<float>(ts::bernoulli(1), {1, -0.5});
  // The last Bernoulli number that float32 holds, and later ones, which overflow.
  const auto many = ts::bernoulli(10000).to_vector<float>();
  EXPECT_EQ(many[64], static_cast<float>(-106783830147866529886385444979142647942017.0 / 510));
  EXPECT_EQ(many[66], std::numeric_limits<float>::infinity());
  EXPECT_EQ(many[9999], 0.0f);
  EXPECT_EQ(many[10000], -std::numeric_limits<float>::infinity());
  // The expected values are exact fractions, rounded once.
  const auto doubles = ts::bernoulli(260, ts::f64).to_vector<double>();
  EXPECT_EQ(doubles[30], 8615841276005.0 / 14322);
  EXPECT_EQ(doubles[100], -2.8382249570693707e+78);
  EXPECT_EQ(doubles[258], 1.3352784187354634e+306);
  EXPECT_EQ(doubles[260], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(ts::bernoulli(6, ts::bf16).dtype(), ts::bf16);
}

// The expected values were computed to 60 digits by mpmath 1.4.
void near_to(const Array& got, const Doubles& expected, double most) {
  const auto values = got.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(values[i] / expected[i], 1, most) << i << ": " << values[i];
}

TEST(SpecialEdges, OfHypergeometricFunctionsOfGreatParameters) {
  // If c is much larger than a and b, a recurrence with long steps would cancel. If c is b, the
  // function is a power.
  near_to(ts::hyp2f1(of({1, 3.3, -0.5, -0.5, 1e-10}), of({1.5, 0.25, 0.5, 0.5, 0.25}),
                     of({100, 100, 100, 50, 100}), of({0.7, -1e6, -1e300, 1 - 1e-12, 1 - 1e-12})),
          {1.010686439412646, 0.07796578187072886, 5.648952585419414e+148, 0.9949623127472292,
           1.0000000000002516},
          1e-12);
  same<double>(ts::hyp2f1(of({1.5}), of({-2.5}), of({-2.5}), of({-1e300})), {0});
  // Polynomials whose values are near the end of the range or beyond it.
  near_to(ts::hyp2f1(of({-3}), of({50}), of({3.3}), of({-1e100})), {1.763133750847661e+303}, 1e-13);
  same<double>(ts::hyp2f1(of({-0.5, -3}), of({-4, -2.5}), of({1.5, 1.5}), of({-1e300, -1e300})),
               {-kInf, -kInf});
  // In turn: the second solution close to a = 0; b close to its pole; an overflow; and a factor
  // that overflows although the result does not.
  near_to(ts::hyp1f1(of({1e-300, 0.25}), of({1e-10, 1e-10}), of({100, -1000})),
          {1, -362904288.2998191}, 1e-12);
  same<double>(ts::hyp1f1(of({1e4, 100}), of({1e-10, 1e10}), of({100, -1e300})), {kInf, 0});
}

TEST(SpecialEdges, OfComplexPlanes) {
  // Large phases: the value is 2 exp(-z ** 2), where z ** 2 is 2ixy.
  const auto faddeeva = [](double x, double y) {
    const Array w = ts::wofz(ts::complex(of({x}), of({y})));
    return Doubles{ts::real(w)[0].item<double>(), ts::imag(w)[0].item<double>()};
  };
  near_to(of(faddeeva(1e8, -1e8)), {-0.43165355058705657, -1.9528633368122787}, 1e-8);
  near_to(of(faddeeva(1e16, -1e16)), {1.3909851253718217, -1.437066588921452}, 1e-14);
  EXPECT_EQ(faddeeva(1e300, -1e150)[0], 0);
  EXPECT_EQ(faddeeva(2, -1e160), (Doubles{-kInf, kInf}));
  const Array along = ts::loggamma(ts::complex(of({3, -2.5}), of({kInf, -kInf})));
  same<double>(ts::real(along), {-kInf, -kInf});
  // A function of cos theta is even in theta, so its derivative is odd.
  const auto harmonic = [](Array theta) {
    return ts::real(ts::sph_harm_y(Array(3), Array(1), theta, 0.0, 3));
  };
  near_to(harmonic(of({0.5, -0.5})), {-0.4416984752383337, -0.4416984752383337}, 1e-14);
  near_to(ts::grad([&](Array v) { return ts::sum(harmonic(v)); })(of({0.5, -0.5})),
          {-0.15663255545185478, 0.15663255545185478}, 1e-13);
  // (1e-10) ** 300 underflows to 0, which stays 0 in a recurrence that grows.
  EXPECT_EQ(ts::real(ts::sph_harm_y(Array(1000), Array(300), of({1e-10}), 0.0))[0].item<double>(),
            0);
}

TEST(SpecialEdges, OfTheIncompleteGammaFunctionFarBelowItsShape) {
  const auto narrow = [](double v) { return ts::asarray(v, ts::f32); };
  EXPECT_EQ(ts::gammainc(narrow(33), narrow(1e-20)).item<float>(), 0);
  EXPECT_EQ(ts::gammaincc(narrow(33), narrow(1e-20)).item<float>(), 1);
  // The derivative is the density x ** 24 exp(-x) / Gamma(25): at 0.001, and where x / 25 - 1
  // rounds to -1.
  const auto density = ts::grad([](Array x) { return ts::sum(ts::gammainc(25.0, x)); });
  near_to(density(of({1e-3})), {1.6101266391252528e-96}, 1e-12);
  same<double>(density(of({1e-20})), {0});
}

}  // namespace
