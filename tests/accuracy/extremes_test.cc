// Special functions of extreme operands have the exact results that make_extremes.py stores, and
// probabilities are between 0 and 1 for all operands.
#include "../share.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace {

namespace ts = tessera;
using ts::Array;
using In = const std::vector<Array>&;

struct Function {
  std::string name;
  double most;  // relative error, as in docs/accuracy.md
  std::function<Array(In)> computed;
};
const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      {"gammainc", 1e-13, [](In x) { return ts::gammainc(x[0], x[1]); }},
      {"gammaincc", 1e-13, [](In x) { return ts::gammaincc(x[0], x[1]); }},
      {"betainc", 1e-13, [](In x) { return ts::betainc(x[0], x[1], x[2]); }},
      {"zeta", 1e-13, [](In x) { return ts::zeta(x[0], x[1]); }},
      {"betaln", 1e-13, [](In x) { return ts::betaln(x[0], x[1]); }},
      {"beta", 1e-13, [](In x) { return ts::beta(x[0], x[1]); }},
      {"poch", 1e-12, [](In x) { return ts::poch(x[0], x[1]); }},
      {"comb", 1e-12, [](In x) { return ts::comb(x[0], x[1]); }},
      {"boxcox", 1e-13, [](In x) { return ts::boxcox(x[0], x[1]); }},
      {"rel_entr", 1e-15, [](In x) { return ts::rel_entr(x[0], x[1]); }},
      {"polygamma (100)", 1e-15, [](In x) { return ts::polygamma(100, x[0]); }},
      {"polygamma (50)", 1e-15, [](In x) { return ts::polygamma(50, x[0]); }},
      {"hyp1f1", 1e-12, [](In x) { return ts::hyp1f1(x[0], x[1], x[2]); }},
  };
  return all;
}

// Returns 0 if both are the same, including NaN and infinities.
double relative_error(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  if (want == 0) return std::fabs(got) < 0x1p-1000 ? 0 : HUGE_VAL;
  return std::isfinite(got) && std::isfinite(want) ? std::fabs((got - want) / want) : HUGE_VAL;
}

}  // namespace

TEST(Extremes, AreTheExactResults) {
  const auto tables =
      ts::load_safetensors(TESSERA_SOURCE_DIR "/tests/accuracy/extremes.safetensors").tensors;
  EXPECT_EQ(tables.size(), functions().size());
  for (const Function& f : functions()) {
    const Array rows = tables.at(f.name);
    const std::int64_t operands = rows.shape()[1] - 1;
    std::vector<Array> in;
    for (std::int64_t i = 0; i < operands; ++i) in.push_back(rows.get({ts::all, i}));
    const auto want = rows.get({ts::all, operands}).to_vector<double>();
    const auto got = ts::jit(f.computed)(in).to_vector<double>();
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (relative_error(got[i], want[i]) <= f.most) continue;
      std::string at;
      for (const Array& x : in) at += (at.empty() ? "" : ", ") + ts::to_string(x[i]);
      ADD_FAILURE() << f.name << "(" << at << ") is " << ts::to_string(Array(want[i])) << ", not "
                    << ts::to_string(Array(got[i]));
    }
  }
}

// Tries every pair and triple of magnitudes from 1e-300 to 1e300, as far as float32 holds them; of
// the first parameter's magnitudes a share.
TEST(Extremes, ProbabilitiesLieBetweenZeroAndOne) {
  const test::Share share = test::asked_share();
  for (const ts::DType d : {ts::f32, ts::f64}) {
    std::vector<double> sizes{0,    5e-324, 1e-300, 1e-160, 1e-40, 1e-20, 1e-8,  1e-3,  0.3,
                              1,    2.5,    30,     1e3,    1e5,   1e6,   2e6,   1e9,   1e16,
                              1e18, 1e25,   1e30,   1e32,   1e38,  1e100, 1e200, 1e300, 1.7e308};
    const Array size = Array(sizes).astype(d);
    const Array part = Array(std::vector<double>{0, 1e-300, 1e-30, 1e-10, 0.01, 0.25, 0.5, 0.75,
                                                 1 - 1e-7, 1 - 0x1p-53, 1})
                           .astype(d);
    const Array some = size(
        ts::range(static_cast<std::int64_t>(share.first), {}, static_cast<std::int64_t>(share.of)));
    ASSERT_FALSE(some.is_empty());
    const Array a = some.get({ts::all, ts::newaxis, ts::newaxis}),
                b = size.get({ts::all, ts::newaxis});
    // Tries the mean and points beside it too, where no operand is rounded away.
    const Array mean = ts::where(ts::isfinite(a / (a + b)), a / (a + b), 0.5);
    for (const Array& x : {part + 0 * a, mean * part.astype(d), mean * 1.0}) {
      const Array valid =
          (a > 0) & (b > 0) & ts::isfinite(a) & ts::isfinite(b) & (x >= 0) & (x <= 1);
      const Array r = ts::betainc(a, b, x);
      EXPECT_TRUE(ts::all(ts::where(valid, (r >= 0) & (r <= 1), true)).item<bool>()) << d;
    }
    for (const Array& x : {size + 0 * b, b + 0 * size, b * 1.0000001, b * 0.9999999}) {
      const Array valid = (b > 0) & ts::isfinite(b) & (x >= 0) & ts::isfinite(x);
      const Array lower = ts::gammainc(b, x), upper = ts::gammaincc(b, x);
      EXPECT_TRUE(ts::all(ts::where(valid, (lower >= 0) & (lower <= 1), true)).item<bool>()) << d;
      EXPECT_TRUE(ts::all(ts::where(valid, (upper >= 0) & (upper <= 1), true)).item<bool>()) << d;
      EXPECT_TRUE(ts::all(ts::where(valid, ts::abs(lower + upper - 1) < 1e-6, true)).item<bool>())
          << d;
    }
  }
}

TEST(Extremes, HaveDerivatives) {
  // The density of a normal distribution in the middle, for large parameters.
  const Array a = Array(1e12).astype(ts::f64), b = Array(3e12).astype(ts::f64),
              x = Array(0.25).astype(ts::f64);
  const auto near = [](const Array& got, double want, double most) {
    EXPECT_LE(relative_error(got.item<double>(), want), most) << got;
  };
  // sqrt(a b / (2 pi (a + b))) / (x (1 - x)), minus a term in a that corrects for the mean.
  const double height = std::sqrt(1e12 * 0.75 / (2 * std::acos(-1.0)));
  near(ts::grad([&](Array v) { return ts::betainc(a, b, v); })(x), height / (0.25 * 0.75), 1e-10);
  near(ts::grad([&](Array v) { return ts::betainc(v, b, x); })(a), -height * 1e-12, 1e-5);
  near(ts::grad([&](Array v) { return ts::gammainc(a, v); })(a),
       std::sqrt(1 / (2 * std::acos(-1.0) * 1e12)), 1e-10);
  near(ts::grad([&](Array v) { return ts::gammainc(v, a); })(a),
       -std::sqrt(1 / (2 * std::acos(-1.0) * 1e12)), 1e-5);
}
