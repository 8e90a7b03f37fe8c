// Draws equal those of jax.random for the same key.
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/distributions.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>
#include <tessera/random.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

#include "golden/compare.h"

#include <limits>

namespace golden {
namespace {

namespace ts = tessera;
namespace random = tessera::random;
using ts::Shape;

// The draw of a case: in[0] is the key, the others are parameters.
Array draw(const std::string& f, const Inputs& in, ts::DType d) {
  const Array& k = in[0];
  const Shape columns{16, 3}, more{20, 3};
  if (f == "cauchy") return random::cauchy(k, {8, 8}, d);
  if (f == "laplace") return random::laplace(k, {8, 8}, d);
  if (f == "logistic") return random::logistic(k, {8, 8}, d);
  if (f == "maxwell") return random::maxwell(k, {8, 8}, d);
  if (f == "rademacher") return random::rademacher(k, 64, d);
  if (f == "double_sided_maxwell") return random::double_sided_maxwell(k, in[1], in[2], 5, d);
  if (f == "lognormal") return random::lognormal(k, in[1], columns, d);
  if (f == "pareto") return random::pareto(k, in[1], columns, d);
  if (f == "rayleigh") return random::rayleigh(k, in[1], columns, d);
  if (f == "weibull_min") return random::weibull_min(k, in[1], in[2], columns, d);
  if (f == "wald") return random::wald(k, in[1], columns, d);
  if (f == "triangular") return random::triangular(k, in[1], in[2], in[3], columns, d);
  if (f == "gamma") return random::gamma(k, in[1], {}, d);
  if (f == "loggamma") return random::loggamma(k, in[1], {}, d);
  if (f == "gamma_grad")
    return ts::grad([&](Array a) { return ts::sum(random::gamma(k, a, {}, d)); })(in[1]);
  if (f == "loggamma_grad")
    return ts::grad([&](Array a) { return ts::sum(random::loggamma(k, a, {}, d)); })(in[1]);
  if (f == "beta") return random::beta(k, in[1], in[2], more, d);
  if (f == "chisquare") return random::chisquare(k, in[1], more, d);
  if (f == "dirichlet") return random::dirichlet(k, in[1], Shape{9}, d);
  if (f == "f") return random::f(k, in[1], in[2], more, d);
  if (f == "t") return random::t(k, in[1], more, d);
  if (f == "generalized_normal") return random::generalized_normal(k, 1.5, 64, d);
  if (f == "geometric") return random::geometric(k, in[1], columns);
  if (f == "poisson") return random::poisson(k, in[1], Shape{16, 6});
  if (f == "binomial") return random::binomial(k, in[1], in[2], Shape{16, 8});
  return {};
}

class Distributions : public testing::TestWithParam<Case> {};

TEST_P(Distributions, EqualJax) {
  const Case& c = GetParam();
  const ts::DType d = c.variant == "float64" ? ts::f64 : ts::f32;
  Array got = draw(c.function, c.in, d);
  if (c.function == "ball") {
    const bool plane = c.out[0].shape(-1) == 2;
    got = random::ball(c.in[0], plane ? 2 : 3, plane ? 1 : 2, 20, d);
  }
  ASSERT_FALSE(got.is_empty()) << "no function for " << c.name;
  // Inverse error functions and logarithms of both libraries have errors of a few units. Powers,
  // and logarithms of ratios, multiply these.
  const bool derivative = c.function.find("grad") != std::string::npos;
  const double ulps = derivative ? (d == ts::f64 ? 1e6 : 2000) : 128;
  expect_near(got, c.out[0], ulps, derivative ? 1e-3 : largest_of(c.out[0]));
}

INSTANTIATE_TEST_SUITE_P(Jax, Distributions, testing::ValuesIn(cases_of("distributions")),
                         test_name);

// The draws are the same when traced, mapped over keys, and on devices.
TEST(Draws, AreTheSameTracedAndMapped) {
  ts::set_device_count(4);
  using Draw = Array (*)(Array);
  const Draw draws[] = {
      [](Array k) {
        return random::gamma(k, ts::array({0.5, 3.0}));
      },
      [](Array k) {
        return random::beta(k, ts::array({0.5, 3.0}), 2.0);
      },
      [](Array k) { return random::t(k, 4.0, ts::Shape{2}); },
      [](Array k) {
        return random::poisson(k, ts::array({3.0, 40.0})).astype(ts::f32);
      },
      [](Array k) {
        return random::binomial(k, 50, ts::array({0.1, 0.6}));
      },
      [](Array k) {
        return random::wald(k, ts::array({0.5, 3.0}));
      },
      [](Array k) { return random::cauchy(k, {2}); },
  };
  const Array keys = random::split(ts::Operand(random::key(8)), 4);
  for (const Draw f : draws) {
    std::vector<Array> alone;
    for (int i = 0; i < 4; ++i) alone.push_back(f(keys[i]));
    const Array expected = ts::stack(alone);
    EXPECT_TRUE(ts::array_equal(ts::jit(f)(keys[0]), alone[0]).item<bool>());
    EXPECT_TRUE(ts::array_equal(ts::vmap(f)(keys), expected).item<bool>());
    EXPECT_TRUE(ts::array_equal(ts::pmap(f)(keys), expected).item<bool>());
  }
}

// The mean of gamma(a) is a, so the mean of its derivative is 1, also in float16 and bfloat16 and
// for small or large parameters.
TEST(Draws, GammaMovesWithItsParameter) {
  const Array key = random::key(9);
  for (double a : {0.1, 1.0, 20.0, 1e4}) {
    const auto mean = [&](Array p) { return ts::mean(random::gamma(key, p, ts::Shape{20000})); };
    // Five standard deviations of the means.
    EXPECT_NEAR(mean(Array(a)).item<double>(), a, 5 * std::sqrt(a / 20000));
    EXPECT_NEAR(ts::grad(mean)(ts::array(a)).item<double>(), 1, 0.1 + 0.01 / a);
  }
  for (ts::DType d : {ts::f16, ts::bf16}) {
    const Array x = random::gamma(key, 2.0, ts::Shape{1000}, d);
    EXPECT_EQ(x.dtype(), d);
    EXPECT_NEAR(ts::mean(x.astype(ts::f32)).item<double>(), 2, 0.3);
  }
}

// With extreme parameters, draws stay within the range of their distribution and depend on their
// parameters.
TEST(Draws, OfExtremeParameters) {
  const Array key = random::key(7);
  const Shape many{64};
  for (ts::DType d : {ts::f32, ts::f64}) {
    // A difference of roots would give zeros and negative numbers; for an infinite mean it is 1 /
    // y.
    const double infinity = std::numeric_limits<double>::infinity();
    for (double mean : {1e6, 1e16, 1e30, infinity}) {
      const Array x = random::wald(key, mean, many, d);
      EXPECT_TRUE(ts::all((x > 0) & (x < 1e8)).item<bool>()) << mean << d;
    }
    // Products of widths would underflow and overflow.
    for (double s : {1e-30, 1e30}) {
      const Array x = random::triangular(key, s, 2 * s, 3 * s, many, d) / s;
      EXPECT_TRUE(ts::all((x > 1) & (x < 3)).item<bool>()) << s << d;
      EXPECT_NEAR(ts::mean(x).item<double>(), 2, 0.3) << s << d;
    }
    // With few degrees of freedom, both chi-squares of the ratio underflow.
    EXPECT_FALSE(ts::any(ts::isnan(random::f(key, 1e-3, 1e-3, many, d))).item<bool>());
    const auto mean = [&](Array a) { return ts::mean(random::gamma(key, a, Shape{64}, d)); };
    EXPECT_NEAR(ts::grad(mean)(Array(1e30).astype(d)).item<double>(), 1, 1e-6);
    // A draw that has underflowed has derivative 0.
    const auto tiny = [&](Array df) { return ts::sum(random::chisquare(key, df, Shape{8}, d)); };
    EXPECT_EQ(ts::grad(tiny)(Array(d == ts::f64 ? 1e-300 : 1e-30).astype(d)).item<double>(), 0);
  }
  // The root of a chi-square is representable where the chi-square is not.
  const Array x = ts::abs(random::t(key, 0.01, Shape{4096}, ts::f64));
  EXPECT_TRUE(ts::any(ts::isfinite(x) & (x > 1e170)).item<bool>());
}

}  // namespace
}  // namespace golden
