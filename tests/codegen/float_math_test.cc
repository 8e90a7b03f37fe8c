// The project's own float32 functions agree with the C library's double functions, over a sample of
// all floats.
#include "codegen/run.h"
#include "ops/build.h"

#include <bit>
#include <cmath>

namespace ts = tessera;
namespace ops = tessera::ops;

namespace {

struct Function {
  ts::Value (*emitted)(ts::Value);
  double (*exact)(double);
  double ulps;
};

// The bounds hold for every hundredth of the 2^32 floats, with and without fused multiply-adds.
const Function kFunctions[] = {
    {ops::exp, std::exp, 1.07},     {ops::expm1, std::expm1, 1.7}, {ops::log, std::log, 1.08},
    {ops::log1p, std::log1p, 1.08}, {ops::sinh, std::sinh, 2.25},  {ops::cosh, std::cosh, 1.5},
    {ops::tanh, std::tanh, 2.53},   {ops::asinh, std::asinh, 1.8}, {ops::acosh, std::acosh, 2.35},
    {ops::atan, std::atan, 1.6},    {ops::erf, std::erf, 2.1},     {ops::erfc, std::erfc, 2.6},
    {ops::sin, std::sin, 1.55},     {ops::cos, std::cos, 1.55},    {ops::tan, std::tan, 0.92},
};

std::vector<float> sample() {
  std::vector<float> x{0.0f, -0.0f, INFINITY, -INFINITY, NAN};
  for (std::uint64_t bits = 1; bits < std::uint64_t{1} << 32; bits += 20011)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return x;
}

double ulps_between(float value, double exact) {
  int exponent;
  std::frexp(exact, &exponent);
  return std::abs(value - exact) / std::ldexp(1, std::max(exponent - 24, -149));
}

}  // namespace

TEST(FloatMath, KeepsItsBoundsAndSpecialValues) {
  const std::vector<float> x = sample();
  auto n = static_cast<std::int64_t>(x.size());
  ts::HostArray in(ts::f32, {n});
  std::copy(x.begin(), x.end(), in.data<float>());
  for (const Function& f : kFunctions) {
    ts::Builder b;
    ts::Value v = b.input({ts::f32, {n}});
    ts::ProgramPtr p = b.finish({{f.emitted(v)}});
    ts::HostArray out = run::compiled(p, {{in}})[0];
    SCOPED_TRACE(p->equations[0].op->name);
    double worst = 0;
    float at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double exact = f.exact(x[i]);
      float got = out.data<float>()[i], rounded = static_cast<float>(exact);
      if (std::isnan(rounded)) {
        ASSERT_TRUE(std::isnan(got)) << x[i] << " gives " << got;
      } else if (exact == 0 || std::isinf(exact)) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(rounded))
            << x[i] << " gives " << got;
      } else if (std::isinf(rounded) || std::isinf(got)) {  // each may round beyond the range
        ASSERT_EQ(std::abs(got) >= std::nextafter(std::numeric_limits<float>::max(), 0.0f) &&
                      std::abs(rounded) >= std::nextafter(std::numeric_limits<float>::max(), 0.0f),
                  true)
            << x[i] << " gives " << got;
      } else if (double u = ulps_between(got, exact); u > worst) {
        worst = u;
        at = x[i];
      }
    }
    EXPECT_LE(worst, f.ulps) << "at " << at;
  }
}

// Exact values of IEEE pow for all pairs of special operands, and the bound of wide_math.cc for
// others where there are fused multiply-adds.
TEST(FloatMath, PowersHaveTheSpecialValuesOfTheCLibrary) {
  const std::vector<float> special{0.0f, 1e-45f,      1e-30f,      0.5f,  1.0f,  1.5f,     2.0f,
                                   3.0f, 16777215.0f, 16777216.0f, 1e30f, 3e38f, INFINITY, NAN};
  std::vector<float> x, y;
  for (float p : special)
    for (float q : special)
      for (int signs = 0; signs < 4; ++signs) {
        x.push_back(signs & 1 ? -p : p);
        y.push_back(signs & 2 ? -q : q);
      }
  const auto n = static_cast<std::int64_t>(x.size());
  ts::HostArray bases(ts::f32, {n}), exponents(ts::f32, {n});
  std::copy(x.begin(), x.end(), bases.data<float>());
  std::copy(y.begin(), y.end(), exponents.data<float>());
  ts::Builder b;
  const ts::Value base = b.input({ts::f32, {n}}), exponent = b.input({ts::f32, {n}});
  const ts::ProgramPtr p = b.finish({{ops::pow(base, exponent)}});
  const ts::HostArray out = run::compiled(p, {{bases, exponents}})[0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    const float got = out.data<float>()[i], rounded = static_cast<float>(exact);
    SCOPED_TRACE(std::to_string(x[i]) + " to the power " + std::to_string(y[i]));
    if (std::isnan(rounded))
      EXPECT_TRUE(std::isnan(got)) << got;
    else if (rounded == 0 || std::isinf(rounded) || rounded == exact)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(rounded)) << got;
    else
      EXPECT_LE(ulps_between(got, exact), 0.8);
  }
}
