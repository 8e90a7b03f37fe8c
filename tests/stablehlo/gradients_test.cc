// Derivatives of modules that JAX exports agree with JAX's own (gradients/make.py). JAX
// differentiates its functions by rules of their own. A module has only the operations that they
// consist of, among them selections with branches whose derivatives are infinite or NaN where they
// are not taken.
#include <tessera/tessera.h>

#include "golden/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ts = tessera;
using ts::Array;

namespace {

class Gradients : public testing::TestWithParam<golden::Case> {
 protected:
  ts::LoadedFunction::Single module() const {
    return ts::load_stablehlo(std::string(TESSERA_TEST_DIR) + "/stablehlo/gradients/" +
                              GetParam().name + ".mlir")
        .single();
  }
};

// Compares relative to the element and to 5e-3 times the largest derivatives, which are about 1: a
// module has rational approximations of erf and similar functions in float32, whose own derivatives
// are off by about 1e-6. Where JAX's derivative is NaN, any number is accepted.
void expect_as_good(const Array& got, const Array& expected, double part) {
  const auto g = ts::ravel(got).to_vector<float>(), w = ts::ravel(expected).to_vector<float>();
  ASSERT_EQ(g.size(), w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (std::isnan(w[i]))
      EXPECT_TRUE(std::isfinite(g[i])) << "element " << i << ": " << g[i];
    else if (std::isinf(w[i]))
      EXPECT_EQ(g[i], w[i]) << "element " << i;
    else
      EXPECT_NEAR(g[i], w[i], part * (5e-3 + std::fabs(w[i]))) << "element " << i;
  }
}

TEST_P(Gradients, AsJax) {
  const auto f = module();
  const auto loss = [&](Array x) { return ts::sum(f(x)); };
  const Array x = GetParam().in[0];
  const Array compiled = ts::jit(ts::grad(loss))(x);
  expect_as_good(compiled, GetParam().out[0], 2e-4);
  // Evaluating op by op gives the same.
  const Array eager = ts::grad(loss)(x);
  EXPECT_EQ(eager.to_vector<float>(), compiled.to_vector<float>());
}

TEST_P(Gradients, SecondOrderAsJax) {
  if (GetParam().out.size() < 2) GTEST_SKIP() << "it has a kink";
  const auto f = module();
  const auto loss = [&](Array x) { return ts::sum(f(x)); };
  expect_as_good(ts::diagonal(ts::hessian(loss)(GetParam().in[0])), GetParam().out[1], 4e-3);
}

INSTANTIATE_TEST_SUITE_P(OfModules, Gradients,
                         testing::ValuesIn(golden::cases_of("../stablehlo/gradients/gradients")),
                         golden::test_name);

}  // namespace
