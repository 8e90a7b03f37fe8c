// Programs that flush subnormal numbers to zero if they are told to.
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/debug.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/operators.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>

#include "api/check.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ts = tessera;

using api_test::f32s;
using ts::Array;

namespace {

constexpr float kLeast = std::numeric_limits<float>::denorm_min();
constexpr float kNormal = std::numeric_limits<float>::min();

// The processor's result for half of the smallest normal number, on this thread.
float half_of_normal() {
  volatile float x = kNormal;
  return x * 0.5f;
}

class Denormal : public testing::TestWithParam<bool> {
 protected:
  Denormal() : before_(ts::flush_denormal()) {
    ts::set_device_count(4);
    ts::set_flush_denormal(GetParam());
  }
  ~Denormal() override { ts::set_flush_denormal(before_); }
  float expected(float subnormal) const { return GetParam() ? 0 : subnormal; }

 private:
  bool before_;
};

TEST_P(Denormal, SmallCallsOnTheCallersThread) {
  NEEDS_CPU(subnormals);
  const Array x = ts::array({kNormal, kLeast, 1.f});
  EXPECT_EQ(f32s(x * 0.5f), (std::vector<float>{expected(kNormal / 2), 0, 0.5f}));
  EXPECT_EQ(f32s(x + x), (std::vector<float>{2 * kNormal, expected(2 * kLeast), 2}));
  EXPECT_EQ(f32s(x), (std::vector<float>{kNormal, kLeast, 1})) << "moving bits is no arithmetic";
  EXPECT_EQ(half_of_normal(), kNormal / 2) << "the caller's thread has its own mode";
}

TEST_P(Denormal, DoublesTails) {
  NEEDS_CPU(subnormals);
  const double least = std::numeric_limits<double>::min();
  for (std::int64_t n : {0, 1, 7, 17}) {
    const std::vector<double> x(static_cast<std::size_t>(n), least);
    const std::vector<double> half(x.size(), GetParam() ? 0 : least / 2);
    EXPECT_EQ((Array(x) * 0.5).to_vector<double>(), half) << n;
  }
}

TEST_P(Denormal, LargeCallsOnAllWorkers) {
  NEEDS_CPU(subnormals);
  const Array x = ts::full({1 << 22}, kNormal);
  const auto f = ts::jit([](Array v) { return ts::max(v * 0.5f); });
  EXPECT_EQ(f(x).item<float>(), expected(kNormal / 2));
  EXPECT_EQ((ts::min(ts::tanh(x * 0.5f))).item<float>(), expected(kNormal / 2));
}

TEST_P(Denormal, DevicesLibrariesAndGradients) {
  NEEDS_CPU(subnormals);
  const auto halves = ts::pmap([](Array v) { return v * 0.5f; });
  for (float v : f32s(halves(ts::full({4, 3}, kNormal)))) EXPECT_EQ(v, expected(kNormal / 2));
  // Each sum has one product.
  const Array product =
      ts::dot(ts::full({64, 64}, kNormal) * ts::eye(64), ts::full({64, 64}, 0.5f));
  for (float v : f32s(product)) EXPECT_EQ(v, expected(kNormal / 2));
  const auto gradient = ts::grad([](Array v) { return ts::sum(v * v * 0.25f); });
  for (float v : f32s(gradient(ts::full({5}, kNormal)))) EXPECT_EQ(v, expected(kNormal / 2));
}

// The reciprocals of these numbers are subnormal.
TEST_P(Denormal, AnglesOfTheLargestNumbers) {
  const auto agree = [](auto large) {
    using T = decltype(large);
    const T some = std::ldexp(large, -20), infinite = std::numeric_limits<T>::infinity();
    const std::vector<T> y{large, large, -large, some, some, 8, large, large, -0.0, infinite};
    const std::vector<T> x{large, -large, large, large, -large, large, some, 1, large, large};
    const std::vector<T> angles = ts::arctan2(Array(y), Array(x)).template to_vector<T>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const T exact = std::atan2(y[i], x[i]);
      // The bound of both functions is one unit in the last place.
      EXPECT_NEAR(angles[i], exact, 2 * std::numeric_limits<T>::epsilon() * std::abs(exact)) << i;
      EXPECT_EQ(std::signbit(angles[i]), std::signbit(exact)) << i;
    }
  };
  agree(std::numeric_limits<float>::max());
  agree(std::numeric_limits<double>::max());
}

TEST_P(Denormal, FunctionsOfTheUserComputeAsBefore) {
  NEEDS_CPU(subnormals);
  float seen = -1;
  const auto before =
      ts::debug::set_print_handler([&](const ts::debug::Printed&) { seen = half_of_normal(); });
  const auto f = ts::jit([](Array v) {
    ts::debug::print("{}", v);
    return v * 0.5f;
  });
  EXPECT_EQ(f(ts::array(kNormal)).item<float>(), expected(kNormal / 2));
  ts::effects_barrier();
  ts::debug::set_print_handler(before);
  EXPECT_EQ(seen, kNormal / 2);
}

// A compiled function uses the mode of each call.
TEST(DenormalMode, GoesForCallsThatBeginFromNowOn) {
  NEEDS_CPU(subnormals);
  const bool before = ts::flush_denormal();
  const auto f = ts::jit([](Array v) { return v * 0.5f; });
  for (bool on : {false, true, false, true}) {
    ts::set_flush_denormal(on);
    EXPECT_EQ(ts::flush_denormal(), on);
    EXPECT_EQ(f(ts::array(kNormal)).item<float>(), on ? 0 : kNormal / 2);
  }
  ts::set_flush_denormal(before);
}

INSTANTIATE_TEST_SUITE_P(OnAndOff, Denormal, testing::Bool(),
                         [](const auto& info) { return info.param ? "Flushed" : "Kept"; });

}  // namespace
