// The op that docs/adding_an_op.md adds, as its users meet it. follow.py puts the guide's blocks
// into a copy of the files that they change, which this program is compiled and linked with.
#include "ir/op.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

std::vector<double> points() { return {-20, -3, -0.5, -1e-9, 0, 1e-9, 0.5, 1, 3, 20}; }

// The function and its derivatives by other formulas than those of the guide.
double value(double x) { return std::atan(std::sinh(x)); }
double slope(double x) { return 2 / (std::exp(x) + std::exp(-x)); }
double second(double x) { return -std::tanh(x) * slope(x); }

void expect_close(const Array& got, double (*formula)(double)) {
  const std::vector<double> x = points(), y = got.to_vector<double>();
  ASSERT_EQ(y.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], formula(x[i]), 1e-14 * std::fabs(formula(x[i]))) << "at " << x[i];
}

void expect_same_bits(const Array& got, const Array& want) {
  const std::vector<double> x = got.to_vector<double>(), y = want.to_vector<double>();
  ASSERT_EQ(got.shape(), want.shape());
  EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(double)), 0);
}

// Argument-dependent lookup finds the function of users, which only the copied header declares.
Array computed(Array x) { return gudermannian(x); }
Array total(Array x) { return ts::sum(computed(x)); }

TEST(Guide, TheOpHasItsValuesAndDtypes) {
  const Array x(points());
  ASSERT_EQ(x.dtype(), ts::f64);
  expect_close(computed(x), value);
  EXPECT_EQ(computed(x.astype(ts::bf16)).dtype(), ts::bf16);
  EXPECT_EQ(computed(Array(1)).dtype(), ts::f32);  // integers count as floats
  EXPECT_THROW(computed(x.astype(ts::c64)), ts::DTypeError);
}

TEST(Guide, TheOpIsDifferentiatedTwice) {
  const Array x(points());
  expect_close(ts::grad(total)(x), slope);
  expect_close(ts::grad([](Array v) { return ts::sum(ts::grad(total)(v)); })(x), second);
}

TEST(Guide, TheOpIsMappedAndCompiled) {
  const Array x(points()), plain = computed(x);
  expect_same_bits(ts::jit(computed)(x), plain);
  const Array rows = ts::reshape(x, {2, 5});
  expect_same_bits(ts::vmap(computed)(rows), ts::reshape(plain, {2, 5}));
  expect_same_bits(ts::vmap(ts::grad(total))(rows), ts::reshape(ts::grad(total)(x), {2, 5}));
}

TEST(Guide, TheOpIsPrintedAndParsedByItsName) {
  const std::string text = "f { (a: f64[3]) -> (b)\n  b: f64[3] = gudermannian a\n}\n";
  EXPECT_EQ(to_string(*ts::parse_program(text)), text);
  const std::string traced = ts::jit(computed).lower(Array(points())).ir();
  EXPECT_NE(traced.find(": f64[10] = gudermannian a"), std::string::npos) << traced;
}

TEST(Guide, TheOpIsWrittenAsStableHloAndReadBack) {
  const Array x(points());
  const std::string text = ts::stablehlo_text(computed, x);
  EXPECT_NE(text.find("\"tessera.gudermannian\""), std::string::npos) << text;
  const ts::LoadedFunction f = ts::load_stablehlo_text(text);
  expect_same_bits(f(x)[0], computed(x));
  expect_close(ts::grad([&](Array v) { return ts::sum(f.single()(v)); })(x), slope);
}

}  // namespace
