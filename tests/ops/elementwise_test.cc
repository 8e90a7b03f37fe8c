// Values of elementwise ops at the edges of their domains agree with the definitions in docs/ops.md
// and the C++ library.
#include "ops/op_check.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace ts = tessera;
using namespace ts::testing;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> unary(const std::string& op, std::vector<T> x, const ts::Attrs& attrs = {}) {
  auto n = static_cast<std::int64_t>(x.size());
  return values<T>(run_op(op, {host<T>({n}, x)}, attrs));
}
// C++ vectors of bool have no data().
std::vector<int> flags(const ts::HostArray& a) {
  EXPECT_EQ(a.dtype, ts::bool_);
  return {a.data<bool>(), a.data<bool>() + a.count()};
}
ts::HostArray booleans(std::vector<int> v) {
  ts::HostArray a(ts::bool_, {v.size()});
  for (std::size_t i = 0; i < v.size(); ++i) a.data<bool>()[i] = v[i];
  return a;
}
template <class T>
std::vector<T> binary(const std::string& op, std::vector<T> x, std::vector<T> y) {
  auto n = static_cast<std::int64_t>(x.size());
  return values<T>(run_op(op, {host<T>({n}, x), host<T>({n}, y)}, {}));
}
template <class T>
std::vector<int> compare(const std::string& op, std::vector<T> x, std::vector<T> y) {
  auto n = static_cast<std::int64_t>(x.size());
  return flags(run_op(op, {host<T>({n}, x), host<T>({n}, y)}, {}));
}
template <class To, class From>
std::vector<To> converted(std::vector<From> x) {
  auto n = static_cast<std::int64_t>(x.size());
  return values<To>(
      run_op("convert", {host<From>({n}, x)}, {{"dtype", ts::dtype_of<To>()}, {"weak", false}}));
}

// Compares bits, so that -0 differs from +0; all NaNs are equal.
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else {
      EXPECT_EQ(got[i], expected[i]) << "element " << i;
      EXPECT_EQ(std::signbit(got[i]), std::signbit(expected[i])) << "element " << i;
    }
  }
}

const std::vector<float> kEdges = {0.0f,  -0.0f, 1,     -1,          0.5f,       -0.5f,
                                   1.5f,  2.5f,  -2.5f, 0.49999997f, 8388609.0f, 1e-45f,
                                   3e38f, kInf,  -kInf, kNan};

}  // namespace

TEST(Elementwise, SignsAndRoundingAtEdges) {
  std::vector<float> even, away, sign, neg;
  for (float x : kEdges) {
    even.push_back(std::nearbyint(x));
    away.push_back(std::round(x));
    sign.push_back(x > 0 ? 1 : x < 0 ? -1 : x);
    neg.push_back(-x);
  }
  expect_same(unary("round_nearest_even", kEdges), even);
  expect_same(unary("round_away", kEdges), away);
  expect_same(unary("sign", kEdges), sign);
  expect_same(unary("neg", kEdges), neg);
  expect_same(unary<float>("floor", {-0.0f, 0.5f, -0.5f, kInf, kNan}), {-0.0f, 0, -1, kInf, kNan});
  expect_same(unary<float>("ceil", {-0.0f, 0.5f, -0.5f, -kInf, kNan}),
              {-0.0f, 1, -0.0f, -kInf, kNan});
  expect_same(unary<float>("abs", {-0.0f, -kInf, kNan, -2}), {0.0f, kInf, kNan, 2});
  EXPECT_EQ(flags(run_op("is_finite", {host<float>({4}, {1, kInf, -kInf, kNan})}, {})),
            (std::vector<int>{1, 0, 0, 0}));
}

TEST(Elementwise, IntegersWrapAround) {
  using I = std::int32_t;
  constexpr I lo = INT32_MIN, hi = INT32_MAX;
  EXPECT_EQ(unary<I>("neg", {lo, 5}), (std::vector<I>{lo, -5}));
  EXPECT_EQ(unary<I>("abs", {lo, -5}), (std::vector<I>{lo, 5}));
  EXPECT_EQ(unary<I>("sign", {lo, 0, hi}), (std::vector<I>{-1, 0, 1}));
  EXPECT_EQ(binary<I>("add", {hi, lo}, {1, -1}), (std::vector<I>{lo, hi}));
  EXPECT_EQ(binary<I>("sub", {lo, 0}, {1, lo}), (std::vector<I>{hi, lo}));
  EXPECT_EQ(binary<I>("mul", {65536, hi}, {65536, 2}), (std::vector<I>{0, -2}));
  EXPECT_EQ((binary<std::uint16_t>("mul", {65535}, {65535})), (std::vector<std::uint16_t>{1}));
  EXPECT_EQ((unary<std::uint8_t>("neg", {1, 0})), (std::vector<std::uint8_t>{255, 0}));
  EXPECT_EQ((unary<std::uint8_t>("abs", {200})), (std::vector<std::uint8_t>{200}));
}

TEST(Elementwise, IntegerDivisionIsDefined) {
  using I = std::int32_t;
  EXPECT_EQ(binary<I>("div", {7, -7, 7, 5, 0, INT32_MIN}, {2, 2, -2, 0, 0, -1}),
            (std::vector<I>{3, -3, -3, -1, -1, INT32_MIN}));
  EXPECT_EQ(binary<I>("rem", {7, -7, 7, 5, 0, INT32_MIN}, {2, 2, -2, 0, 0, -1}),
            (std::vector<I>{1, -1, 1, 5, 0, 0}));
  EXPECT_EQ((binary<std::uint8_t>("div", {7, 7}, {0, 2})), (std::vector<std::uint8_t>{255, 3}));
  EXPECT_EQ((binary<std::int64_t>("div", {INT64_MIN}, {-1})),
            (std::vector<std::int64_t>{INT64_MIN}));
  expect_same(binary<float>("rem", {5.5f, -5.5f, -0.0f, 1, kInf, 3}, {2, 2, 1, 0, 2, kInf}),
              {1.5f, -1.5f, -0.0f, kNan, kNan, 3});
  expect_same(binary<float>("div", {1, -1, 0, kInf}, {0, 0, 0, kInf}), {kInf, -kInf, kNan, kNan});
}

TEST(Elementwise, ShiftsPastTheWidth) {
  using I = std::int32_t;
  EXPECT_EQ(binary<I>("shift_left", {1, 1, 1, -1}, {31, 32, -1, 4}),
            (std::vector<I>{INT32_MIN, 0, 0, -16}));
  EXPECT_EQ(binary<I>("shift_right_logical", {-1, -1, -1, 16}, {31, 32, -1, 2}),
            (std::vector<I>{1, 0, 0, 4}));
  EXPECT_EQ(binary<I>("shift_right_arithmetic", {-16, -16, 16, -16}, {2, 32, 32, -1}),
            (std::vector<I>{-4, -1, 0, -1}));
  EXPECT_EQ((binary<std::uint8_t>("shift_left", {0x81, 1}, {1, 8})),
            (std::vector<std::uint8_t>{2, 0}));
  EXPECT_EQ((binary<std::uint8_t>("shift_right_arithmetic", {0x80, 0x40}, {1, 1})),
            (std::vector<std::uint8_t>{0xc0, 0x20}));
  EXPECT_EQ((binary<std::int8_t>("shift_right_logical", {-128}, {7})),
            (std::vector<std::int8_t>{1}));
}

TEST(Elementwise, BitwiseAndLogical) {
  EXPECT_EQ((binary<std::uint8_t>("and", {0xf0}, {0x3c})), (std::vector<std::uint8_t>{0x30}));
  EXPECT_EQ((binary<std::uint8_t>("or", {0xf0}, {0x3c})), (std::vector<std::uint8_t>{0xfc}));
  EXPECT_EQ((binary<std::uint8_t>("xor", {0xf0}, {0x3c})), (std::vector<std::uint8_t>{0xcc}));
  EXPECT_EQ((unary<std::int16_t>("not", {0, -1})), (std::vector<std::int16_t>{-1, 0}));
  ts::HostArray x = booleans({0, 0, 1, 1}), y = booleans({0, 1, 0, 1});
  EXPECT_EQ(flags(run_op("and", {x, y}, {})), (std::vector<int>{0, 0, 0, 1}));
  EXPECT_EQ(flags(run_op("or", {x, y}, {})), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(flags(run_op("xor", {x, y}, {})), (std::vector<int>{0, 1, 1, 0}));
  EXPECT_EQ(flags(run_op("add", {x, y}, {})), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(flags(run_op("mul", {x, y}, {})), (std::vector<int>{0, 0, 0, 1}));
  EXPECT_EQ(flags(run_op("max", {x, y}, {})), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(flags(run_op("lt", {x, y}, {})), (std::vector<int>{0, 1, 0, 0}));
  EXPECT_EQ(flags(run_op("not", {x}, {})), (std::vector<int>{1, 1, 0, 0}));
}

TEST(Elementwise, ExtremaPropagateNanAndOrderZeros) {
  std::vector<float> x = {1, kNan, 1, 0.0f, -0.0f, -kInf}, y = {2, 1, kNan, -0.0f, 0.0f, kInf};
  expect_same(binary("max", x, y), {2, kNan, kNan, 0.0f, 0.0f, kInf});
  expect_same(binary("min", x, y), {1, kNan, kNan, -0.0f, -0.0f, -kInf});
  ts::HostArray lo = host<float>({5}, {0, 0, kNan, 2, 0}),
                v = host<float>({5}, {-1, kNan, 0, 0, 0.5f}),
                hi = host<float>({5}, {1, 1, 1, 1, 1});
  expect_same(values<float>(run_op("clamp", {lo, v, hi}, {})), {0, kNan, kNan, 1, 0.5f});
}

TEST(Elementwise, ComparisonsWithNanAreFalseExceptNe) {
  std::vector<float> x = {1, kNan, kNan, 0.0f}, y = {kNan, 1, kNan, -0.0f};
  for (const char* op : {"lt", "gt"})
    EXPECT_EQ(compare(op, x, y), (std::vector<int>{0, 0, 0, 0})) << op;
  for (const char* op : {"eq", "le", "ge"})
    EXPECT_EQ(compare(op, x, y), (std::vector<int>{0, 0, 0, 1})) << op;
  EXPECT_EQ(compare("ne", x, y), (std::vector<int>{1, 1, 1, 0}));
  EXPECT_EQ((compare<std::uint64_t>("gt", {UINT64_MAX}, {1})), (std::vector<int>{1}));
}

TEST(Elementwise, ConversionsSaturateTruncateAndWrap) {
  EXPECT_EQ((converted<std::int32_t, float>(
                {1.9f, -1.9f, kNan, kInf, -kInf, 2147483648.0f, -2147483648.0f})),
            (std::vector<std::int32_t>{1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN}));
  EXPECT_EQ((converted<std::int8_t, double>({127.9, 128, -128.9, -129})),
            (std::vector<std::int8_t>{127, 127, -128, -128}));
  EXPECT_EQ((converted<std::uint8_t, float>({-1, 255.5f, 300})),
            (std::vector<std::uint8_t>{0, 255, 255}));
  EXPECT_EQ((converted<std::int64_t, float>({9.3e18f})), (std::vector<std::int64_t>{INT64_MAX}));
  EXPECT_EQ((converted<std::uint64_t, double>({1.9e19, 1e19})),
            (std::vector<std::uint64_t>{UINT64_MAX, 10000000000000000000u}));
  EXPECT_EQ((converted<std::uint8_t, std::int32_t>({-1, 256, 300})),
            (std::vector<std::uint8_t>{255, 0, 44}));
  EXPECT_EQ((converted<std::int64_t, std::int8_t>({-1})), (std::vector<std::int64_t>{-1}));
  EXPECT_EQ((converted<float, std::int32_t>({16777217})), (std::vector<float>{16777216.0f}));
  EXPECT_EQ(flags(run_op("convert", {host<float>({4}, {0, -0.0f, kNan, 0.1f})},
                         {{"dtype", ts::bool_}, {"weak", false}})),
            (std::vector<int>{0, 0, 1, 1}));
  // A number halfway between neighbours of bfloat16 (1 and 1.0078125) or of float16 (1 and
  // 1.0009766) is rounded to the even one.
  EXPECT_EQ(float(converted<ts::bfloat16_t, float>({1.00390625f})[0]), 1.0f);
  EXPECT_EQ(float(converted<ts::float16_t, float>({1.00048828125f})[0]), 1.0f);
  EXPECT_EQ(float(converted<ts::float16_t, float>({65520.0f})[0]), kInf);
}

TEST(Elementwise, SixteenBitFloatsRoundOnceAnOp) {
  // 1 + 2^-8 is halfway between neighbours; 1 + 3 * 2^-8 too, and its even neighbour is above.
  auto b = [](float v) { return ts::bfloat16_t(v); };
  auto sum =
      values<ts::bfloat16_t>(run_op("add",
                                    {host<ts::bfloat16_t>({2}, {b(1), b(1.0078125f)}),
                                     host<ts::bfloat16_t>({2}, {b(0.00390625f), b(0.00390625f)})},
                                    {}));
  EXPECT_EQ(float(sum[0]), 1.0f);
  EXPECT_EQ(float(sum[1]), 1.015625f);
  EXPECT_EQ(float(values<ts::float16_t>(
                run_op("exp", {host<ts::float16_t>({1}, {ts::float16_t(1)})}, {}))[0]),
            float(ts::float16_t(std::exp(1.0f))));
}

TEST(Elementwise, SelectTakesFromEitherSide) {
  EXPECT_EQ(values<std::int32_t>(run_op("select",
                                        {booleans({1, 0, 1}), host<std::int32_t>({3}, {1, 2, 3}),
                                         host<std::int32_t>({3}, {4, 5, 6})},
                                        {})),
            (std::vector<std::int32_t>{1, 5, 3}));
}

TEST(Elementwise, BitcastKeepsBits) {
  EXPECT_EQ(values<std::uint32_t>(
                run_op("bitcast_convert", {host<float>({2}, {1, -0.0f})}, {{"dtype", ts::u32}})),
            (std::vector<std::uint32_t>{0x3f800000u, 0x80000000u}));
  EXPECT_EQ(infer_error<ts::DTypeError>("bitcast_convert", {ts::Type(ts::f32, {2})},
                                        {{"dtype", ts::i64}}),
            "bitcast_convert: reads float32 as int64\n"
            "  rule: both dtypes have the same width, or the last dimension of the narrower one "
            "makes up for it; booleans and complex numbers are read as such only\n"
            "  try: use astype to convert values");
}

TEST(Elementwise, BitcastBetweenWidthsCutsAndJoins) {
  // As in StableHLO, the lowest bits are the first element of the last dimension.
  ts::Builder b;
  ts::Value x = b.input(ts::Type(ts::f32, {2})), y = b.input(ts::Type(ts::u8, {1, 8}));
  ts::Value cut = ts::ops::bitcast_convert(x, ts::u16), wide = ts::ops::bitcast_convert(y, ts::i64);
  EXPECT_EQ(wide.shape(), ts::Shape{1});
  ts::Values out{cut, wide, ts::ops::bitcast_convert(cut, ts::f32)};
  auto p = b.finish(out);
  std::vector<ts::HostArray> in{host<float>({2}, {1, -0.15625f}),
                                host<std::uint8_t>({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0x88})};
  std::vector<ts::HostArray> got = ts::evaluate(*p, in);
  EXPECT_EQ(got[0].shape, (ts::Shape{2, 2}));
  EXPECT_EQ(values<std::uint16_t>(got[0]), (std::vector<std::uint16_t>{0, 0x3f80, 0, 0xbe20}));
  EXPECT_EQ(values<std::int64_t>(got[1])[0], static_cast<std::int64_t>(0x8807060504030201u));
  expect_same(values<float>(got[2]), {1, -0.15625f});
}

TEST(Elementwise, BitsOfIntegers) {
  using I = std::int32_t;
  EXPECT_EQ(unary<I>("population_count", {0, 1, -1, 0x55, INT32_MIN}),
            (std::vector<I>{0, 1, 32, 4, 1}));
  EXPECT_EQ(unary<I>("count_leading_zeros", {0, 1, -1, 0x55}), (std::vector<I>{32, 31, 0, 25}));
  EXPECT_EQ(unary<std::uint8_t>("count_leading_zeros", {0, 3}), (std::vector<std::uint8_t>{8, 6}));
  EXPECT_EQ(binary<I>("mulhi", {INT32_MAX, INT32_MIN, -1}, {INT32_MAX, INT32_MIN, 1}),
            (std::vector<I>{0x3fffffff, 0x40000000, -1}));
  EXPECT_EQ(binary<std::uint64_t>("mulhi", {~0ull, 1ull << 63}, {~0ull, 6}),
            (std::vector<std::uint64_t>{~0ull - 1, 3}));
  EXPECT_EQ(binary<std::int64_t>("mulhi", {-1, INT64_MIN}, {1, INT64_MIN}),
            (std::vector<std::int64_t>{-1, std::int64_t{1} << 62}));
}

TEST(Elementwise, NextAfter) {
  expect_same(binary<float>("nextafter", {1, 1, 0, 0, -0.0f, kInf, 1, kNan, 3e38f * 10},
                            {2, 0, 1, -1, 0, 0, 1, 1, kInf}),
              {1 + 0x1p-23f, 1 - 0x1p-24f, 1e-45f, -1e-45f, 0, 3.40282347e38f, 1, kNan, kInf});
}

TEST(Elementwise, GammaFamily) {
  // The values were summed to 60 digits by the Euler-Maclaurin formula.
  const std::vector<double> x{0.25, 1, 1.5, 2, 5.5, 40};
  const std::vector<double> psi{-4.2274535333762655, -0.5772156649015329, 0.03648997397857652,
                                0.42278433509846713, 1.6110931485817512,  3.676327374034843},
      first{17.19732915450711,  1.6449340668482264,  0.9348022005446793,
            0.6449340668482264, 0.19934238698962767, 0.02531510384129103},
      fifth{491552.5137676813, 122.0811674381339,    11.113548602435497,
            2.081167438133897, 0.007318980739550786, 2.4938943509996704e-07};
  const std::vector<double> computed = unary("digamma", x);
  auto of_order = [&](std::int64_t n) {
    return values<double>(run_op("polygamma", {host<double>({6}, x)}, {{"order", n}}));
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(computed[i], psi[i], 4e-16 * std::fabs(psi[i]));
    EXPECT_NEAR(of_order(1)[i], first[i], 4e-16 * first[i]);
    EXPECT_NEAR(of_order(5)[i], fifth[i], 4e-16 * fifth[i]);
  }
}

TEST(Elementwise, ReducePrecision) {
  // As in XLA, numbers below the least normal number of the smaller format become zero.
  const std::vector<float> x{1.3f,    3.7f,     65519,    65520, 1e-7f,
                             -1e-30f, 0x1p-14f, 0x1p-15f, kInf,  kNan};
  auto reduced = [&](std::int64_t exponent, std::int64_t mantissa) {
    return values<float>(run_op("reduce_precision", {host<float>({10}, x)},
                                {{"exponent_bits", exponent}, {"mantissa_bits", mantissa}}));
  };
  expect_same(reduced(5, 10),
              {1.2998047f, 3.6992188f, 65504, kInf, 0, -0.0f, 0x1p-14f, 0, kInf, kNan});
  expect_same(reduced(4, 3), {1.25f, 3.75f, kInf, kInf, 0, -0.0f, 0, 0, kInf, kNan});
  // Without a mantissa, ties go to the even exponent.
  expect_same(values<float>(
                  run_op("reduce_precision", {host<float>({5}, {3, 1.5f, 6, -3, 0.75f})},
                         {{"exponent_bits", std::int64_t{8}}, {"mantissa_bits", std::int64_t{0}}})),
              {2, 2, 8, -2, 0.5f});
  expect_same(reduced(1, 2), {0, kInf, kInf, kInf, 0, -0.0f, 0, 0, kInf, kNan});
  EXPECT_EQ(infer_error<ts::Error>(
                "reduce_precision", {ts::Type(ts::f32, {2})},
                {{"exponent_bits", std::int64_t{0}}, {"mantissa_bits", std::int64_t{3}}}),
            "reduce_precision: a float of 0 exponent bits and 3 mantissa bits\n"
            "  rule: at least one exponent bit, and no fewer than zero mantissa bits\n"
            "  try: 8 and 7 are bfloat16's, 5 and 10 those of float16");
}

TEST(Elementwise, FunctionsAreTheLibrarys) {
  using F = double (*)(double);
  const F cube_root = [](double x) { return static_cast<double>(std::cbrt(1.0L * x)); };
  const std::vector<std::pair<std::string, F>> functions = {
      {"exp", std::exp},     {"exp2", std::exp2},
      {"expm1", std::expm1}, {"log", std::log},
      {"log1p", std::log1p}, {"sin", std::sin},
      {"cos", std::cos},     {"tan", std::tan},
      {"asin", std::asin},   {"acos", std::acos},
      {"atan", std::atan},   {"sinh", std::sinh},
      {"cosh", std::cosh},   {"tanh", std::tanh},
      {"asinh", std::asinh}, {"acosh", std::acosh},
      {"atanh", std::atanh}, {"sqrt", std::sqrt},
      {"cbrt", cube_root},   {"erf", std::erf},
      {"erfc", std::erfc},   {"rsqrt", [](double x) { return 1 / std::sqrt(x); }}};
  std::vector<double> x(kEdges.begin(), kEdges.end());
  for (const auto& [name, f] : functions) {
    std::vector<double> expected;
    for (double v : x) expected.push_back(f(v));
    SCOPED_TRACE(name);
    expect_same(unary(name, x), expected);
  }
}

// The exponential has an error of at most one unit in the last place, 2^-52 of itself, and the sum
// and the quotient are rounded once each, 2^-53: together 2^-51 of the result. A result below the
// normal numbers is the exponential, which has their spacing.
TEST(Elementwise, LogisticKeepsItsDigitsBelowZero) {
  std::vector<double> x(kEdges.begin(), kEdges.end());
  for (double v = -744; v <= 744; v += 1.625) x.push_back(v);
  std::vector<double> got = unary("logistic", x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    SCOPED_TRACE(x[i]);
    if (std::isnan(x[i])) {
      EXPECT_TRUE(std::isnan(got[i]));
      continue;
    }
    long double expected = 1 / (1 + std::exp(-static_cast<long double>(x[i])));
    EXPECT_NEAR(
        got[i], static_cast<double>(expected),
        0x1p-51 * static_cast<double>(expected) + std::numeric_limits<double>::denorm_min());
  }
  EXPECT_GT(unary<double>("logistic", {-744})[0], 0);
}

TEST(Elementwise, PowersByRepeatedMultiplication) {
  auto p = [](std::vector<float> x, std::int64_t n) {
    return unary<float>("integer_pow", std::move(x), {{"exponent", n}});
  };
  expect_same(p({0, 2, kNan, kInf}, 0), {1, 1, 1, 1});
  expect_same(p({-2, 3, -0.0f}, 3), {-8, 27, -0.0f});
  expect_same(p({2, -0.0f, kInf}, -1), {0.5f, -kInf, 0});
  expect_same(p({2}, 100), {std::ldexp(1.0f, 100)});
  expect_same(p({-1, 2}, INT64_MIN), {1, 0});
  EXPECT_EQ((unary<std::int32_t>("integer_pow", {3, -2}, {{"exponent", std::int64_t{21}}})),
            (std::vector<std::int32_t>{1870418611, -2097152}));
  expect_same(binary<float>("pow", {2, -8, 0, kNan, -2}, {0.5f, 1.0f / 3, 0, 0, 3}),
              {std::sqrt(2.0f), kNan, 1, 1, -8});
  EXPECT_EQ(infer_error<ts::DTypeError>("integer_pow", {ts::Type(ts::i32, {2})},
                                        {{"exponent", std::int64_t{-1}}}),
            "integer_pow: integers of dtype int32 to the power -1\n  rule: integers have no "
            "negative powers\n  try: convert to float32 with astype");
}

// erf_inv inverts erf. The derivative of erf_inv is sqrt(pi)/2 exp(y^2), so a relative error of
// 2^-24 in erf(y) is worth 2^-24 erf(y) / erf'(y) in y: below |y| = 2.5 that is 1e-5 at the worst.
TEST(Elementwise, ErfInvInvertsErf) {
  std::vector<float> y32, x32;
  std::vector<double> y64, x64;
  for (double y = -2.5; y <= 2.5; y += 0.0625) {
    y32.push_back(static_cast<float>(y)), x32.push_back(static_cast<float>(std::erf(y)));
    y64.push_back(y), x64.push_back(std::erf(y));
  }
  std::vector<float> got32 = unary("erf_inv", x32);
  std::vector<double> got64 = unary("erf_inv", x64);
  for (std::size_t i = 0; i < y64.size(); ++i) {
    double conditioning =
        std::sqrt(std::acos(-1.0)) / 2 * std::exp(y64[i] * y64[i]) * std::fabs(x64[i]);
    EXPECT_NEAR(got32[i], y32[i], 6e-8 * conditioning + 1e-6 * std::fabs(y32[i]));
    EXPECT_NEAR(got64[i], y64[i], 1.2e-16 * conditioning + 1e-14 * std::fabs(y64[i]));
  }
  expect_same(unary<float>("erf_inv", {1, -1, 0, -0.0f, 2, kNan}),
              {kInf, -kInf, 0, -0.0f, kNan, kNan});
  expect_same(unary<double>("erf_inv", {1, -1, 0}), {kInf, -kInf, 0});
  // For the tail, w > 16 means |x| > 1 - 6e-8 / 2.
  EXPECT_NEAR(std::erfc(unary<double>("erf_inv", {1 - 1e-12})[0]) / 1e-12, 1, 2e-4);
}

// The known-answer vectors of Random123.
TEST(Elementwise, Threefry) {
  auto word = [](std::vector<std::uint32_t> v) { return host<std::uint32_t>({3}, v); };
  auto out = run({word({0, 0xffffffff, 0x13198a2e}), word({0, 0xffffffff, 0x03707344}),
                  word({0, 0xffffffff, 0x243f6a88}), word({0, 0xffffffff, 0x85a308d3})},
                 [](ts::Builder&, const ts::Values& in) {
                   return ts::ops::threefry2x32(in[0], in[1], in[2], in[3]);
                 });
  EXPECT_EQ(values<std::uint32_t>(out[0]),
            (std::vector<std::uint32_t>{0x6b200159, 0x1cb996fc, 0xc4923a9c}));
  EXPECT_EQ(values<std::uint32_t>(out[1]),
            (std::vector<std::uint32_t>{0x99ba4efe, 0xbb002be7, 0x483df7a0}));
}

TEST(Elementwise, OperandsThatDoNotFit) {
  EXPECT_EQ(
      infer_error<ts::ShapeError>("add", {ts::Type(ts::f32, {3}), ts::Type(ts::f32, {4})}, {}),
      "add: operands have shapes (3,) and (4,)\n"
      "  rule: operands have one shape; nothing is broadcast here\n"
      "  try: broadcast the operands to one shape with broadcast_to");
  EXPECT_EQ(
      infer_error<ts::DTypeError>("mul", {ts::Type(ts::f32, {3}), ts::Type(ts::i32, {3})}, {}),
      "mul: operands have dtypes float32 and int32\n"
      "  rule: operands have one dtype; nothing is promoted here\n"
      "  try: convert one operand to the dtype of the other with astype");
  EXPECT_EQ(infer_error<ts::DTypeError>("exp", {ts::Type(ts::i32, {3})}, {}),
            "exp: operands have dtype int32\n  rule: operands are floating-point or complex\n  "
            "try: convert "
            "to float32 with astype");
  EXPECT_EQ(
      infer_error<ts::DTypeError>("and", {ts::Type(ts::f32, {3}), ts::Type(ts::f32, {3})}, {}),
      "and: operands have dtype float32\n  rule: operands are integer or boolean\n  try: convert "
      "to int32 with astype");
  EXPECT_EQ(
      infer_error<ts::DTypeError>(
          "select", {ts::Type(ts::i32, {3}), ts::Type(ts::f32, {3}), ts::Type(ts::f32, {3})}, {}),
      "select: the condition has dtype int32\n  rule: the condition is boolean\n  try: compare "
      "first, as in x != 0");
}

TEST(Elementwise, WeakOnlyWhereAllOperandsAre) {
  const ts::Op& add = ts::Registry::get().at("add");
  auto weak = [&](bool x, bool y) {
    return add.infer({add, std::vector<ts::Type>{{ts::f32, {}, x}, {ts::f32, {}, y}}, {}, {}})[0]
        .weak;
  };
  EXPECT_TRUE(weak(true, true));
  EXPECT_FALSE(weak(true, false));
  EXPECT_FALSE(weak(false, true));
}
