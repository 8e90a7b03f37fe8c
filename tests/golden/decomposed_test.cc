// Results computed from matrix decompositions agree with JAX: draws, initialisers, densities, fits.
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/distributions.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/linalg.h>
#include <tessera/manipulation.h>
#include <tessera/nn/initializers.h>
#include <tessera/operators.h>
#include <tessera/pmap.h>
#include <tessera/polynomial.h>
#include <tessera/random.h>
#include <tessera/reductions.h>
#include <tessera/stats.h>
#include <tessera/vmap.h>

#include "golden/compare.h"

#include <sstream>

namespace golden {
namespace {

namespace ts = tessera;
namespace random = tessera::random;
namespace density = tessera::stats::multivariate_normal;
using Out = std::vector<Array>;
using Numbers = std::vector<std::int64_t>;

Numbers numbers(const std::string& text) {
  std::istringstream in(text);
  return Numbers(std::istream_iterator<std::int64_t>(in), {});
}
std::optional<ts::Shape> wanted(const std::string& text) {
  if (text.empty()) return {};
  const Numbers n = numbers(text);
  return ts::Shape(n.begin(), n.end());
}

Out orthogonal(const Array& key, const std::string& variant, ts::DType d) {
  if (variant == "batch") return {random::orthogonal(key, 3, {2, 2}, d)};
  const Numbers n = numbers(variant);
  return {random::orthogonal(key, n[0], {}, d, n[1])};
}

// (x - mean)^T cov^-1 (x - mean), which does not depend on the signs of eigenvectors.
Array length(const Array& draw, const Array& mean, const Array& cov) {
  const Array y = draw - mean;
  return ts::sum(y * ts::squeeze(ts::linalg::solve(cov, ts::expand_dims(y, -1)), -1), -1);
}

Out drawn(const std::string& f, const Inputs& in, const std::string& variant, ts::DType d) {
  const std::string method = f == "draw" ? "cholesky" : f.substr(7);
  const Array x = random::multivariate_normal(in[0], in[1], in[2], wanted(variant), d, method);
  return {f == "draw" ? x : length(x, in[1], in[2])};
}

Out initialized(const std::string& f, const Array& key, const std::string& variant, ts::DType d) {
  const Numbers n = numbers(variant);
  if (f == "delta")
    return {ts::nn::initializers::delta_orthogonal(0.5)(key, ts::Shape(n.begin(), n.end()), d)};
  const ts::nn::Initializer init = ts::nn::initializers::orthogonal(1.5, static_cast<int>(n[0]));
  return {init(key, ts::Shape(n.begin() + 1, n.end()), d)};
}

Array fitted(const Inputs& in, const std::string& variant) {
  ts::PolyfitOptions o;
  if (in.size() > 2) o.w = in[2];
  if (variant.size() > 1) o.rcond = std::stod(variant.substr(2));
  return ts::polyfit(in[0], in[1], std::stoi(variant), o);
}

Out outputs(const Case& c) {
  const Inputs& in = c.in;
  const ts::DType d = c.out[0].dtype();
  if (c.function == "orthogonal") return orthogonal(in[0], c.variant, d);
  if (c.function == "initializer" || c.function == "delta")
    return initialized(c.function, in[0], c.variant, d);
  if (c.function == "logpdf") return {density::logpdf(in[0], in[1], in[2])};
  if (c.function == "pdf") return {density::pdf(in[0], in[1], in[2])};
  if (c.function == "polyfit") return {fitted(in, c.variant)};
  if (c.function == "grad logpdf") {
    const auto [x, m, s] = ts::grad<0, 1, 2>([](Array x, Array m, Array s) {
      return ts::sum(density::logpdf(x, m, s));
    })(in[0], in[1], in[2]);
    return {x, m, s};
  }
  if (c.function == "grad polyfit") {
    const auto [x, y] = ts::grad<0, 1>(
        [](Array x, Array y) { return ts::sum(ts::polyfit(x, y, 2)); })(in[0], in[1]);
    return {x, y};
  }
  return drawn(c.function, in, c.variant, d);
}

class Decomposed : public testing::TestWithParam<Case> {};

TEST_P(Decomposed, EqualJax) {
  const Case& c = GetParam();
  const Out got = outputs(c);
  ASSERT_EQ(got.size(), c.out.size());
  // Rounding errors are multiplied by the condition of the matrices.
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_near(got[i], c.out[i], 2000, largest_of(c.out[i]));
}

INSTANTIATE_TEST_SUITE_P(Jax, Decomposed, testing::ValuesIn(cases_of("decomposed")), test_name);

// The results are the same when traced, mapped over keys, and on devices.
TEST(Decompositions, AreTheSameTracedAndMapped) {
  ts::set_device_count(4);
  const Array mean = ts::array({1.0, -2.0}), cov = ts::array({{2.0, 0.5}, {0.5, 1.0}});
  const Array keys = random::split(ts::Operand(random::key(8)), 4);
  const auto check = [&](auto f) {
    Out alone;
    for (int i = 0; i < 4; ++i) alone.push_back(f(keys[i]));
    EXPECT_TRUE(ts::array_equal(ts::jit(f)(keys[0]), alone[0]).template item<bool>());
    EXPECT_TRUE(ts::array_equal(ts::vmap(f)(keys), ts::stack(alone)).template item<bool>());
    EXPECT_TRUE(ts::array_equal(ts::pmap(f)(keys), ts::stack(alone)).template item<bool>());
  };
  check([&](Array k) { return random::multivariate_normal(k, mean, cov); });
  check([](Array k) { return random::orthogonal(k, 3); });
}

// Draws have the covariance, whichever method computes its root; singular ones too.
TEST(Decompositions, DrawsHaveTheCovariance) {
  const Array key = random::key(3), mean = ts::array({1.0, -2.0});
  for (const std::string method : {"eigh", "svd"}) {
    const Array x = random::multivariate_normal(key, mean, ts::array({{4.0, 0.0}, {0.0, 0.0}}),
                                                ts::Shape{500}, ts::f64, method);
    const Array y = ts::transpose(x - mean);
    EXPECT_NEAR(ts::mean(y[0] * y[0]).item<double>(), 4, 5 * 4 * std::sqrt(2.0 / 500));
    EXPECT_EQ(ts::max(ts::abs(y[1])).item<double>(), 0);
  }
}

// Fitting a polynomial's own values gives its coefficients; integers count as floats.
TEST(Decompositions, FitsOfPolynomialsAreTheirCoefficients) {
  const Array x = ts::arange(6), y = ts::polyval(ts::array({2, -3, 5}), x);
  expect_near(ts::polyfit(x, y, 2), ts::array({2.0, -3.0, 5.0}), 200);
}

}  // namespace
}  // namespace golden
