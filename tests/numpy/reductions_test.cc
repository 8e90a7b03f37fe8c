// The options of reductions, each against a loop over the elements in double.
#include <tessera/constants.h>
#include <tessera/creation.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/reductions.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace ts = tessera;
using ts::Array;
using ts::Shape;

namespace {

using Doubles = std::vector<double>;
using Rows = std::vector<Doubles>;
Doubles doubles(const Array& x) { return x.astype(ts::f64).to_vector<double>(); }

// Small integers: sums, products and squares of them are exact in float32 and double.
const Doubles kValues{3, -1, 4, 1, -5, 2, 6, -2, 2, 3, 1, -4};
const std::vector<bool> kMask{true,  false, true, true,  false, true,
                              false, true,  true, false, true,  true};
Array values(ts::DType dtype = ts::f32) { return Array(kValues, Shape{3, 4}).astype(dtype); }
Array mask() { return Array(kMask).reshape(3, 4); }

// The counted elements of each result: over axis 0, 1, or both (-1).
Rows groups(int axis, bool masked) {
  Rows out(axis == 0 ? 4 : axis == 1 ? 3 : 1);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      if (!masked || kMask[4 * i + j])
        out[axis == 0 ? j : axis == 1 ? i : 0].push_back(kValues[4 * i + j]);
  return out;
}
Doubles each(const Rows& rows, const std::function<double(const Doubles&)>& f) {
  Doubles out;
  for (const Doubles& r : rows) out.push_back(f(r));
  return out;
}
std::function<double(const Doubles&)> folded(double start, double (*f)(double, double)) {
  return [=](const Doubles& v) {
    double r = start;
    for (double x : v) r = f(r, x);
    return r;
  };
}
double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }
double mean_of(const Doubles& v) { return folded(0, plus)(v) / static_cast<double>(v.size()); }
std::function<double(const Doubles&)> var_of(int ddof) {
  return [=](const Doubles& v) {
    double q = 0;
    for (double x : v) q += (x - mean_of(v)) * (x - mean_of(v));
    return q / (static_cast<double>(v.size()) - ddof);
  };
}
ts::AxisList axes(int axis) { return axis < 0 ? ts::AxisList() : ts::AxisList(axis); }
std::optional<Array> where(bool masked) {
  return masked ? std::optional<Array>(mask()) : std::nullopt;
}
void near(const Array& got, const Doubles& want) {
  const Doubles g = doubles(got);
  ASSERT_EQ(g.size(), want.size());
  // A few operations in double: two units in the last place of the largest intermediate, 25.
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_NEAR(g[i], want[i], 25 * 0x1p-51) << i;
}

}  // namespace

TEST(Reductions, AxisWhereAndInitialAgreeWithALoop) {
  for (int axis : {-1, 0, 1})
    for (bool masked : {false, true}) {
      const Rows g = groups(axis, masked);
      const Array x = values();
      EXPECT_EQ(doubles(ts::sum(x, {.axis = axes(axis), .where = where(masked)})),
                each(g, folded(0, plus)));
      EXPECT_EQ(doubles(ts::sum(x, {.axis = axes(axis), .initial = 7, .where = where(masked)})),
                each(g, folded(7, plus)));
      EXPECT_EQ(doubles(ts::prod(x, {.axis = axes(axis), .where = where(masked)})),
                each(g, folded(1, times)));
      EXPECT_EQ(doubles(ts::prod(x, {.axis = axes(axis), .initial = -2, .where = where(masked)})),
                each(g, folded(-2, times)));
      EXPECT_EQ(doubles(ts::max(x, {.axis = axes(axis), .initial = 3, .where = where(masked)})),
                each(g, folded(3, larger)));
      EXPECT_EQ(doubles(ts::min(x, {.axis = axes(axis), .initial = -1, .where = where(masked)})),
                each(g, folded(-1, smaller)));
      const Array wide = values(ts::f64);
      near(ts::mean(wide, {.axis = axes(axis), .where = where(masked)}), each(g, mean_of));
      for (int ddof : {0, 1}) {
        near(ts::var(wide, {.axis = axes(axis), .ddof = ddof, .where = where(masked)}),
             each(g, var_of(ddof)));
        near(ts::std(wide, {.axis = axes(axis), .ddof = ddof, .where = where(masked)}),
             each(g, [&](const Doubles& v) { return std::sqrt(var_of(ddof)(v)); }));
      }
      const auto positive = folded(0, [](double n, double v) { return n + (v > 0); });
      EXPECT_EQ(doubles(ts::count_nonzero(x > 0, {.axis = axes(axis), .where = where(masked)})),
                each(g, positive));
      EXPECT_EQ(doubles(ts::any(x > 3, {.axis = axes(axis), .where = where(masked)})),
                each(g, folded(0, [](double r, double v) { return double(r || v > 3); })));
      EXPECT_EQ(doubles(ts::all(x > -3, {.axis = axes(axis), .where = where(masked)})),
                each(g, folded(1, [](double r, double v) { return double(r && v > -3); })));
    }
}

TEST(Reductions, AMaskKeepsWhatItLeavesOutFromValuesAndDerivatives) {
  const Array x = Array(std::vector<float>{1, NAN, 3, INFINITY}),
              m = Array({true, false, true, false});
  EXPECT_EQ(ts::sum(x, {.where = m}).item<float>(), 4);
  EXPECT_EQ(ts::prod(x, {.where = m}).item<float>(), 3);
  EXPECT_EQ(ts::mean(x, {.where = m}).item<float>(), 2);
  EXPECT_EQ(ts::var(x, {.where = m}).item<float>(), 1);
  EXPECT_EQ(ts::max(x, {.initial = -ts::inf, .where = m}).item<float>(), 3);
  EXPECT_NEAR(ts::logsumexp(x, {.where = m}).item<float>(), std::log(std::exp(1) + std::exp(3)),
              4e-7);  // one ulp of 3.1 in float32, twice
  const auto gradient = [&](auto f) { return doubles(ts::grad(f)(x)); };
  EXPECT_EQ(gradient([&](Array a) { return ts::sum(a, {.where = m}); }), (Doubles{1, 0, 1, 0}));
  EXPECT_EQ(gradient([&](Array a) { return ts::mean(a, {.where = m}); }),
            (Doubles{0.5, 0, 0.5, 0}));
  EXPECT_EQ(gradient([&](Array a) { return ts::var(a, {.where = m}); }), (Doubles{-1, 0, 1, 0}));
  EXPECT_EQ(gradient([&](Array a) { return ts::max(a, {.initial = -ts::inf, .where = m}); }),
            (Doubles{0, 0, 1, 0}));
}

TEST(Reductions, EveryWayToNameAxesIsOne) {
  const Array x = values();
  const Array rows = ts::sum(x, 1), all = ts::sum(x);
  const std::vector<std::int64_t> both{0, 1};
  const std::vector<int> one{1};
  for (const Array& r : {ts::sum(x, -1), ts::sum(x, {1}), ts::sum(x, one), ts::sum(x, {.axis = 1}),
                         ts::sum(x, {.axis = {1}}), x.sum(1), x.sum({1}), x.sum({.axis = -1})})
    EXPECT_EQ(doubles(r), doubles(rows));
  for (const Array& r :
       {ts::sum(x, {0, 1}), ts::sum(x, {}), ts::sum(x, both), ts::sum(x, {.axis = {0, 1}}),
        ts::sum(x, {.axis = {}}), ts::sum(x, {.axis = both}), x.sum(), x.sum({0, -1})})
    EXPECT_EQ(doubles(r), doubles(all));
  EXPECT_EQ(ts::sum(x, 1, true).shape(), (Shape{3, 1}));
  EXPECT_EQ(ts::sum(x, {0, 1}, true).shape(), (Shape{1, 1}));
  EXPECT_EQ(ts::sum(x, {.axis = 0, .keepdims = true}).shape(), (Shape{1, 4}));
  EXPECT_EQ(x.sum(0, true).shape(), (Shape{1, 4}));
  EXPECT_EQ(ts::sum(ts::ones({1, 2, 1, 2, 1, 2, 1, 2, 3}), {0, 1, 2, 3, 4, 5, 6, 7}).shape(),
            (Shape{3}));
}

TEST(Reductions, ADtypeIsThatOfTheResultAndTheSum) {
  EXPECT_EQ(ts::sum(ts::full({3}, 200, ts::u8), {.dtype = ts::i64}).dtype(), ts::i64);
  EXPECT_EQ(ts::sum(ts::full({1 << 20}, 0.1, ts::f64), {.dtype = ts::f64}).dtype(), ts::f64);
  EXPECT_EQ(ts::cumsum(ts::array({1.5, 1.5}), {.dtype = ts::i32}).to_vector<int>(),
            (std::vector<int>{1, 2}));
  EXPECT_EQ(ts::mean(ts::array({1, 2}), {.dtype = ts::f64}).item<double>(), 1.5);
}

TEST(Reductions, ExtremaOfNothingAreTheirInitialValue) {
  EXPECT_EQ(doubles(ts::max(ts::zeros({0, 2}), {.axis = 0, .initial = 4})), (Doubles{4, 4}));
  EXPECT_EQ(ts::min(ts::zeros({0}), {.initial = ts::inf}).item<float>(), INFINITY);
}

TEST(Reductions, ArgumentsOfExtremaTakeNames) {
  const Array x = values();
  EXPECT_EQ(ts::argmax(x).item<int>(), 6);
  EXPECT_EQ(ts::argmax(x, {.axis = 1}).to_vector<int>(), (std::vector<int>{2, 2, 1}));
  EXPECT_EQ(ts::argmin(x, {.axis = 1, .keepdims = true}).shape(), (Shape{3, 1}));
  EXPECT_EQ(x.argmin(0).to_vector<int>(), (std::vector<int>{1, 0, 2, 2}));
}

TEST(Norm, OrdersOfVectors) {
  const Array x = Array(std::vector<double>{3, -4, 0, 12});
  const auto norm = [&](double ord) { return ts::norm(x, {.ord = ord}).item<double>(); };
  EXPECT_EQ(ts::norm(x).item<double>(), 13);
  EXPECT_EQ(norm(2), 13);
  EXPECT_EQ(norm(1), 19);
  EXPECT_EQ(norm(0), 3);
  EXPECT_EQ(norm(ts::inf), 12);
  EXPECT_EQ(norm(-ts::inf), 0);
  EXPECT_NEAR(norm(3), std::cbrt(27 + 64 + 1728), 1e-14);  // two roundings of 12.2
  EXPECT_EQ(ts::norm(values(), {.axis = 1, .keepdims = true}).shape(), (Shape{3, 1}));
}

TEST(Norm, OrdersOfMatrices) {
  const Array x = values(ts::f64);  // magnitudes: columns 10, 6, 11, 7, rows 9, 15, 10
  const auto norm = [&](double ord) { return ts::norm(x, {.ord = ord}).item<double>(); };
  EXPECT_EQ(norm(1), 11);
  EXPECT_EQ(norm(-1), 6);
  EXPECT_EQ(norm(ts::inf), 15);
  EXPECT_EQ(norm(-ts::inf), 9);
  EXPECT_EQ(ts::norm(x.reshape(1, 3, 4), {.axis = {1, 2}, .ord = 1}).shape(), (Shape{1}));
  EXPECT_NEAR(ts::norm(x).item<double>(), std::sqrt(126.0), 2e-15);
}
