// Functions of layers in float64 agree with long double: their constants are doubles, not float32.
#include "only_cpu.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/nn.h>
#include <tessera/reductions.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

namespace ts = tessera;
using ts::Array;
using Long = long double;

namespace {

constexpr Long kPi = 3.14159265358979323846264338327950288L;

Long sigmoid(Long x) { return 1 / (1 + std::exp(-x)); }

const std::vector<double> kPoints{-3.3, -1.7, -0.9, -0.3, -0.1, 0.1, 0.2, 0.7, 1.1, 2.3, 4.7};

using Function = std::pair<std::function<Array(Array)>, std::function<Long(Long)>>;

// Evaluates a function at points that are not float32 numbers, eagerly and in a jit, and its
// derivative against a central difference of the oracle with step 1e-6, which is exact to 1e-11;
// float32 constants would be off by 1e-8.
TEST(Float64, Activations) {
  NEEDS_CPU(same_bits);
  namespace nn = ts::nn;
  const std::map<std::string, Function> all{
      {"leaky_relu",
       {[](Array x) { return nn::leaky_relu(x, 0.1); },
        [](Long x) { return x >= 0 ? x : Long(0.1) * x; }}},
      {"elu",
       {[](Array x) { return nn::elu(x, 0.7); },
        [](Long x) { return x > 0 ? x : Long(0.7) * std::expm1(x); }}},
      {"gelu",
       {[](Array x) { return nn::gelu(x); },
        [](Long x) {
          return x / 2 * (1 + std::tanh(std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x)));
        }}},
      {"gelu exact",
       {[](Array x) { return nn::gelu(x, false); },
        [](Long x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0L))); }}},
      {"silu", {[](Array x) { return nn::silu(x); }, [](Long x) { return x * sigmoid(x); }}},
      {"softplus",
       {[](Array x) { return nn::softplus(x); }, [](Long x) { return std::log1p(std::exp(x)); }}},
      {"log_sigmoid",
       {[](Array x) { return nn::log_sigmoid(x); },
        [](Long x) { return -std::log1p(std::exp(-x)); }}},
      {"log2",
       {[](Array x) { return ts::log2(ts::abs(x)); },
        [](Long x) { return std::log2(std::fabs(x)); }}},
      {"log10",
       {[](Array x) { return ts::log10(ts::abs(x)); },
        [](Long x) { return std::log10(std::fabs(x)); }}},
      {"0.1 x", {[](Array x) { return 0.1 * x; }, [](Long x) { return Long(0.1) * x; }}},
      {"x^2 + 0.3",
       {[](Array x) { return ts::power(x, 2) + 0.3; }, [](Long x) { return x * x + Long(0.3); }}},
      {"x^0.1",
       {[](Array x) { return ts::power(ts::abs(x), 0.1); },
        [](Long x) { return std::pow(std::fabs(x), Long(0.1)); }}},
      {"0.1^x",
       {[](Array x) { return ts::power(0.1, x); }, [](Long x) { return std::pow(Long(0.1), x); }}},
      {"clip",
       {[](Array x) { return ts::clip(x, -0.25, 0.15); },
        [](Long x) { return std::min(std::max(x, Long(-0.25)), Long(0.15)); }}},
      {"huber",
       {[](Array x) { return nn::huber_loss(x, ts::zeros_like(x), 0.6); },
        [](Long x) {
          Long e = std::fabs(x), n = std::min(e, Long(0.6));
          return n * n / 2 + Long(0.6) * (e - n);
        }}},
      {"binary cross entropy",
       {[](Array x) { return nn::sigmoid_binary_cross_entropy(x, ts::full_like(x, 0.3)); },
        [](Long x) {
          return Long(0.3) * std::log1p(std::exp(-x)) + (1 - Long(0.3)) * std::log1p(std::exp(x));
        }}},
  };
  const Array x(kPoints);
  for (const auto& [name, f] : all) {
    const auto& [function, oracle] = f;
    const Array values = function(x);
    EXPECT_EQ(values.dtype(), ts::f64) << name;
    const auto got = values.to_vector<double>(), jitted = ts::jit(function)(x).to_vector<double>();
    const auto slope =
        ts::grad([&f = function](Array v) { return ts::sum(f(v)); })(x).to_vector<double>();
    for (std::size_t i = 0; i < kPoints.size(); ++i) {
      const Long p = kPoints[i], want = oracle(p), h = 1e-6L;
      // A sum that cancels has the rounding errors of its terms, which are at most 5 here.
      const double bound = 4e-15 * std::max(1.0, static_cast<double>(std::fabs(want)));
      EXPECT_NEAR(got[i], static_cast<double>(want), bound) << name << " at " << kPoints[i];
      EXPECT_EQ(jitted[i], got[i]) << name << " at " << kPoints[i];
      const Long d = (oracle(p + h) - oracle(p - h)) / (2 * h);
      EXPECT_NEAR(slope[i], static_cast<double>(d),
                  1e-10 * std::max(1.0, static_cast<double>(std::fabs(d))))
          << "derivative of " << name << " at " << kPoints[i];
    }
  }
}

}  // namespace
