// Derivatives at the points where mathematics leaves a choice, and forward values where symbolic
// zeros must stay absent.
#include "ops/op_check.h"

#include "ir/interpret.h"

#include <cmath>
#include <limits>

namespace ts = tessera;
using namespace ts::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// The derivative of the op's result with respect to input `wrt`, elementwise: its tangent along
// ones.
std::vector<double> derivative(const std::string& op,
                               const std::vector<std::vector<double>>& inputs, std::size_t wrt,
                               const ts::Attrs& attrs = {}) {
  ts::Builder b;
  ts::Values in;
  std::vector<ts::HostArray> arrays;
  std::vector<bool> nonzero(inputs.size());
  nonzero[wrt] = true;
  for (const auto& x : inputs) {
    arrays.push_back(host<double>({static_cast<std::int64_t>(x.size())}, x));
    in.push_back(b.input(ts::Type(ts::f64, arrays.back().shape)));
  }
  ts::JvpProgram jvp = ts::jvp_program(*b.finish(b.emit(op, in, attrs)), nonzero, {true});
  arrays.push_back(host<double>(arrays[wrt].shape, std::vector<double>(inputs[wrt].size(), 1)));
  return values<double>(run_program(*jvp.program, arrays).back());
}

void expect_same(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else {
      EXPECT_EQ(got[i], expected[i]) << "element " << i;
    }
  }
}

}  // namespace

TEST(Conventions, AbsAtZeroIsOne) {
  expect_same(derivative("abs", {{0, -0.0, 2, -2}}, 0), {1, 1, 1, -1});
}

TEST(Conventions, SqrtAtZeroIsInfinite) {
  expect_same(derivative("sqrt", {{0, 4}}, 0), {kInf, 0.25});
}

TEST(Conventions, TiesOfMaxAndMinShareHalf) {
  expect_same(derivative("max", {{1, 2, 3}, {2, 2, 2}}, 0), {0, 0.5, 1});
  expect_same(derivative("max", {{1, 2, 3}, {2, 2, 2}}, 1), {1, 0.5, 0});
  expect_same(derivative("min", {{1, 2, 3}, {2, 2, 2}}, 0), {1, 0.5, 0});
}

TEST(Conventions, ClampIsStrict) {
  std::vector<double> lo = {0, 0, 0, 0, 0}, x = {-1, 0, 0.5, 1, 2}, hi = {1, 1, 1, 1, 1};
  expect_same(derivative("clamp", {lo, x, hi}, 1), {0, 0, 1, 0, 0});
  expect_same(derivative("clamp", {lo, x, hi}, 0), {1, 0, 0, 0, 0});
  expect_same(derivative("clamp", {lo, x, hi}, 2), {0, 0, 0, 0, 1});
}

TEST(Conventions, PowAtZero) {
  // d/dx is y x^(y-1), and 0 where y is 0: x^0 is 1 for every x. d/dy takes log 0 as 0.
  expect_same(derivative("pow", {{0, 0, 2}, {0, 2, 3}}, 0), {0, 0, 12});
  expect_same(derivative("pow", {{0, 0, -1}, {0, 2, 2}}, 1), {0, 0, kNan});
  expect_same(derivative("integer_pow", {{0, 3}}, 0, {{"exponent", std::int64_t{0}}}), {0, 0});
  expect_same(derivative("integer_pow", {{0, 3}}, 0, {{"exponent", std::int64_t{2}}}), {0, 6});
}

TEST(Conventions, RemainderTakesTheTruncatedQuotient) {
  expect_same(derivative("rem", {{5.5, -5.5}, {2, 2}}, 0), {1, 1});
  expect_same(derivative("rem", {{5.5, -5.5}, {2, 2}}, 1), {-2, 2});
}

TEST(Conventions, Atan2AtTheOriginIsNan) {
  expect_same(derivative("atan2", {{0, 1}, {0, 0}}, 0), {kNan, 0});
}

TEST(Conventions, PiecewiseConstantsHaveNone) {
  for (const char* op :
       {"sign", "floor", "ceil", "round_nearest_even", "round_away", "stop_gradient"})
    expect_same(derivative(op, {{-1.5, 0, 2}}, 0), {0, 0, 0});
}

TEST(Conventions, ReducedTiesShareEqually) {
  auto sum = [](const char* op, std::vector<double> x, std::vector<double> t) {
    ts::Builder b;
    auto n = static_cast<std::int64_t>(x.size());
    ts::Value in = b.input(ts::Type(ts::f64, {n}));
    ts::JvpProgram jvp =
        ts::jvp_program(*b.finish(b.emit(op, ts::Values{in}, {{"axes", ts::Ints{0}}})), {true});
    return values<double>(
        run_program(*jvp.program, {host<double>({n}, x), host<double>({n}, t)}).back())[0];
  };
  EXPECT_EQ(sum("reduce_max", {3, 1, 3, 3}, {3, 100, 6, 12}), 7);
  EXPECT_EQ(sum("reduce_min", {3, 1, 3, 1}, {100, 2, 100, 4}), 3);
  // The derivative is the product of the other elements, even if some are zero.
  EXPECT_EQ(sum("reduce_prod", {2, 0, 3, 5, 7}, {1, 10, 1, 1, 1}), 2100);
  EXPECT_EQ(sum("reduce_prod", {2, 0, 3, 0, 7}, {1, 1, 1, 1, 1}), 0);
  EXPECT_EQ(sum("reduce_prod", {2, 3, 5}, {1, 0, 0}), 15);
}

TEST(Conventions, AbsentTangentsStayAbsent) {
  ts::Builder b;
  ts::Value x = b.input(ts::Type(ts::f32, {2})), y = b.input(ts::Type(ts::f32, {2})),
            i = b.input(ts::Type(ts::i32, {2}));
  ts::Values out = {ts::ops::mul(x, y), ts::ops::exp(y), ts::ops::convert(x, ts::i32),
                    ts::ops::convert(i, ts::f32), ts::ops::floor(x)};
  ts::JvpProgram jvp = ts::jvp_program(*b.finish(out), {true, false, false});
  EXPECT_EQ(jvp.nonzero_out, (std::vector<bool>{true, false, false, false, false}));
}
