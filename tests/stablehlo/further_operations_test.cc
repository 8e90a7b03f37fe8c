// Operations that few modules have: CHLO's that broadcast, products of groups of rows, those of older
// versions, and LAPACK's routines for matrices in simpler forms. Wanted numbers follow from the
// definitions.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ts = tessera;
using ts::Array;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

std::vector<Array> run(const std::string& arguments, const std::string& results,
                       const std::string& body, const std::vector<Array>& in) {
  const auto f = ts::load_stablehlo_text("func.func @main(" + arguments + ") -> (" + results +
                                         ") {\n" + body + "\n}");
  return f(in);
}
Floats floats(const Array& x) { return x.to_vector<float>(); }

TEST(Broadcasting, AsNumPyDoes) {
  const Array row(Floats{1, 2, 3}), column(Floats{10, 20}, {2, 1});
  const auto sum = run("%x: tensor<3xf32>, %y: tensor<2x1xf32>", "tensor<2x3xf32>",
                       "%0 = chlo.broadcast_add %x, %y : (tensor<3xf32>, tensor<2x1xf32>) -> "
                       "tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>",
                       {row, column});
  EXPECT_EQ(floats(sum[0]), (Floats{11, 12, 13, 21, 22, 23}));
  const auto less = run("%x: tensor<3xf32>, %y: tensor<f32>", "tensor<3xi1>",
                        "%0 = \"chlo.broadcast_compare\"(%x, %y) {comparison_direction = "
                        "#chlo<comparison_direction LT>} : (tensor<3xf32>, tensor<f32>) -> "
                        "tensor<3xi1>\nreturn %0 : tensor<3xi1>",
                        {row, Array(2.5f)});
  EXPECT_EQ(ts::astype(less[0], ts::i32).to_vector<std::int32_t>(), (Ints{1, 1, 0}));
  const auto after = run("%x: tensor<3xf32>, %y: tensor<f32>", "tensor<3xf32>",
                         "%0 = chlo.broadcast_next_after %x, %y : (tensor<3xf32>, tensor<f32>) -> "
                         "tensor<3xf32>\nreturn %0 : tensor<3xf32>",
                         {row, Array(9.f)});
  EXPECT_EQ(floats(after[0])[0], 1 + 0x1p-23f);
}

TEST(Broadcasting, AlongTheDimensionsThatItNames) {
  const auto product =
      run("%x: tensor<2x3xf32>, %y: tensor<2xf32>", "tensor<2x3xf32>",
          "%0 = \"chlo.broadcast_multiply\"(%x, %y) {broadcast_dimensions = array<i64: 0>} : "
          "(tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>",
          {Array(Floats{1, 2, 3, 4, 5, 6}, {2, 3}), Array(Floats{10, 100})});
  EXPECT_EQ(floats(product[0]), (Floats{10, 20, 30, 400, 500, 600}));
}

TEST(Clamp, BooleansAndComplexNumbers) {
  const auto booleans =
      run("%x: tensor<2xi1>, %lo: tensor<i1>, %hi: tensor<i1>", "tensor<2xi1>",
          "%0 = stablehlo.clamp %lo, %x, %hi : (tensor<i1>, tensor<2xi1>, tensor<i1>) -> "
          "tensor<2xi1>\nreturn %0 : tensor<2xi1>",
          {ts::astype(Array(Ints{0, 1}), ts::bool_), ts::astype(Array(1), ts::bool_),
           ts::astype(Array(1), ts::bool_)});
  EXPECT_EQ(ts::astype(booleans[0], ts::i32).to_vector<std::int32_t>(), (Ints{1, 1}));
  const auto complex = [](const Floats& re, const Floats& im) {
    return ts::complex(Array(re), Array(im));
  };
  const auto numbers =
      run("%x: tensor<3xcomplex<f32>>, %lo: tensor<3xcomplex<f32>>, %hi: tensor<3xcomplex<f32>>",
          "tensor<3xcomplex<f32>>",
          "%0 = stablehlo.clamp %lo, %x, %hi : tensor<3xcomplex<f32>>\n"
          "return %0 : tensor<3xcomplex<f32>>",
          {complex({0, 1, 9}, {0, 7, 0}), complex({1, 1, 1}, {2, 2, 2}),
           complex({5, 5, 5}, {6, 6, 6})});
  EXPECT_EQ(floats(ts::real(numbers[0])), (Floats{1, 1, 5}));
  EXPECT_EQ(floats(ts::imag(numbers[0])), (Floats{2, 7, 6}));
}

// A NaN stands beyond the infinity of its sign, and 0 before -0.
TEST(TopK, GoesByTheTotalOrderOfFloats) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const auto f = ts::load_stablehlo_text(
      "func.func @main(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xi32>) {\n"
      "%values, %indices = chlo.top_k(%x, k = 6) : tensor<6xf32> -> (tensor<6xf32>, "
      "tensor<6xi32>)\nreturn %values, %indices : tensor<6xf32>, tensor<6xi32>\n}");
  const auto y = f(Array(Floats{-0.f, std::copysign(nan, -1.f), -inf, nan, inf, 0}));
  EXPECT_EQ(y[1].to_vector<std::int32_t>(), (Ints{3, 4, 5, 0, 2, 1}));
  EXPECT_EQ(floats(y[0])[1], inf);
  EXPECT_TRUE(std::signbit(floats(y[0])[3]));
  const auto two = ts::load_stablehlo_text(
      "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {\n"
      "%values, %indices = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, "
      "tensor<2x2xi32>)\nreturn %values : tensor<2x2xf32>\n}");
  const Array rows(Floats{1, 3, 2, 6, 4, 5}, {2, 3});
  EXPECT_EQ(floats(two.single()(rows)), (Floats{3, 2, 6, 5}));
  const auto total = [&](Array x) { return ts::sum(two.single()(x) * two.single()(x)); };
  EXPECT_EQ(floats(ts::grad(total)(rows)), (Floats{0, 6, 4, 12, 0, 10}));
}

// Rows 0 and 1 are the first group's, row 2 the second's; row 3 is nobody's.
TEST(RaggedDot, ARowHasItsGroupsMatrix) {
  const auto y =
      run("%x: tensor<4x2xf32>, %w: tensor<2x2x1xf32>, %n: tensor<2xi32>", "tensor<4x1xf32>",
          "%0 = \"chlo.ragged_dot\"(%x, %w, %n) <{precision_config = [#chlo<precision DEFAULT>, "
          "#chlo<precision DEFAULT>], ragged_dot_dimension_numbers = "
          "#chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
          "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x2xf32>, "
          "tensor<2x2x1xf32>, tensor<2xi32>) -> tensor<4x1xf32>\nreturn %0 : tensor<4x1xf32>",
          {Array(Floats{1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}),
           Array(Floats{1, 10, 100, 1000}, {2, 2, 1}), Array(Ints{2, 1})});
  EXPECT_EQ(floats(y[0]), (Floats{21, 43, 6500, 0}));
}

// Of each batch a sum over the places of each group; the groups come first.
TEST(RaggedDot, ASumHasAResultForEachGroup) {
  const auto y = run(
      "%x: tensor<2x3x1xf32>, %w: tensor<2x3x1xf32>, %n: tensor<2x2xi32>", "tensor<2x2x1x1xf32>",
      "%0 = \"chlo.ragged_dot\"(%x, %w, %n) <{ragged_dot_dimension_numbers = "
      "#chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
      "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
      "lhs_ragged_dimensions = [1]>}> : (tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x2xi32>) "
      "-> tensor<2x2x1x1xf32>\nreturn %0 : tensor<2x2x1x1xf32>",
      {Array(Floats{1, 2, 3, 4, 5, 6}, {2, 3, 1}), Array(Floats{1, 10, 100, 1, 10, 100}, {2, 3, 1}),
       Array(Ints{1, 2, 2, 1}, {2, 2})});
  EXPECT_EQ(floats(y[0]), (Floats{1, 54, 320, 600}));
}

TEST(Legacy, Einsum) {
  const Array x(Floats{1, 2, 3, 4}, {2, 2}), y(Floats{5, 6, 7, 8}, {2, 2});
  const auto einsum = [&](const std::string& config, const std::string& result) {
    return floats(run("%x: tensor<2x2xf32>, %y: tensor<2x2xf32>", result,
                      "%0 = \"stablehlo.einsum\"(%x, %y) {einsum_config = \"" + config +
                          "\"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> " + result +
                          "\nreturn %0 : " + result,
                      {x, y})[0]);
  };
  EXPECT_EQ(einsum("ab,bc->ac", "tensor<2x2xf32>"), (Floats{19, 22, 43, 50}));
  EXPECT_EQ(einsum("ab,bc->ca", "tensor<2x2xf32>"), (Floats{19, 43, 22, 50}));
  EXPECT_EQ(einsum("ab,cb->", "tensor<f32>"), (Floats{4 * 12 + 6 * 14}));
  EXPECT_EQ(einsum("ab,ab->b", "tensor<2xf32>"), (Floats{26, 44}));
  EXPECT_EQ(einsum("aa,bb->ab", "tensor<2x2xf32>"), (Floats{5, 8, 20, 32}));
  const auto diagonal = run("%x: tensor<2x2xf32>", "tensor<2xf32>",
                            "%0 = \"stablehlo.unary_einsum\"(%x) {einsum_config = \"aa->a\"} : "
                            "(tensor<2x2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>",
                            {x});
  EXPECT_EQ(floats(diagonal[0]), (Floats{1, 4}));
}

TEST(Legacy, TorchIndexSelect) {
  const Array x(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  const auto columns =
      run("%x: tensor<2x3xf32>, %i: tensor<2xi32>", "tensor<2x2xf32>",
          "%0 = \"stablehlo.torch_index_select\"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64} : "
          "(tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>\nreturn %0 : tensor<2x2xf32>",
          {x, Array(Ints{2, 0})});
  EXPECT_EQ(floats(columns[0]), (Floats{3, 1, 6, 4}));
  const auto own =
      run("%x: tensor<2x3xf32>, %i: tensor<2x1xi32>", "tensor<2x1xf32>",
          "%0 = \"stablehlo.torch_index_select\"(%x, %i) {dim = 1 : i64, batch_dims = 1 : i64} : "
          "(tensor<2x3xf32>, tensor<2x1xi32>) -> tensor<2x1xf32>\nreturn %0 : tensor<2x1xf32>",
          {x, Array(Ints{2, 0}, {2, 1})});
  EXPECT_EQ(floats(own[0]), (Floats{3, 4}));
}

// 2 x0 + x1 = 4, x0 + 2 x1 = 5; what is not read may be anything.
TEST(Lapack, TridiagonalSystems) {
  const auto x =
      run("%l: tensor<2xf32>, %d: tensor<2xf32>, %u: tensor<2xf32>, %b: tensor<2x1xf32>",
          "tensor<2x1xf32>",
          "%0:5 = stablehlo.custom_call @lapack_sgtsv_ffi(%l, %d, %u, %b) : (tensor<2xf32>, "
          "tensor<2xf32>, tensor<2xf32>, tensor<2x1xf32>) -> (tensor<2xf32>, tensor<2xf32>, "
          "tensor<2xf32>, tensor<2x1xf32>, tensor<i32>)\nreturn %0#3 : tensor<2x1xf32>",
          {Array(Floats{99, 1}), Array(Floats{2, 2}), Array(Floats{1, 99}),
           Array(Floats{4, 5}, {2, 1})});
  EXPECT_EQ(floats(x[0]), (Floats{1, 2}));
}

// (3, 4) of the first column is reflected onto -5; tau = (beta - alpha) / beta, v = 4 / (alpha - beta).
TEST(Lapack, HessenbergFormsAndTheirReflections) {
  const auto h = run(
      "%a: tensor<3x3xf32>", "tensor<3x3xf32>, tensor<2xf32>, tensor<2x2xf32>",
      "%0:3 = stablehlo.custom_call @lapack_sgehrd_ffi(%a) {mhlo.backend_config = {high = 3 : i32, "
      "low = 1 : i32}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<2xf32>, tensor<i32>)\n"
      "%1 = stablehlo.slice %0#0 [1:3, 0:2] : (tensor<3x3xf32>) -> tensor<2x2xf32>\n"
      "%2 = stablehlo.custom_call @lapack_sorgqr_ffi(%1, %0#1) : (tensor<2x2xf32>, tensor<2xf32>) "
      "-> tensor<2x2xf32>\n"
      "return %0#0, %0#1, %2 : tensor<3x3xf32>, tensor<2xf32>, tensor<2x2xf32>",
      {Array(Floats{1, 0, 0, 3, 2, 0, 4, 0, 2}, {3, 3})});
  const Floats packed = floats(h[0]), taus = floats(h[1]), q = floats(h[2]);
  EXPECT_FLOAT_EQ(packed[3], -5);
  EXPECT_FLOAT_EQ(packed[6], 0.5);
  EXPECT_FLOAT_EQ(packed[4], 2);
  EXPECT_FLOAT_EQ(taus[0], 1.6);
  EXPECT_EQ(taus[1], 0);
  EXPECT_FLOAT_EQ(q[0], -0.6f);
  EXPECT_FLOAT_EQ(q[2], -0.8f);
}

// A rotation has one block, and the eigenvalues i and -i.
TEST(Lapack, SchurForms) {
  const auto f = run(
      "%a: tensor<2x2xf32>", "tensor<2xf32>, tensor<2xf32>",
      "%0:6 = stablehlo.custom_call @lapack_sgees_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, "
      "sort = 78 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, "
      "tensor<2xf32>, tensor<i32>, tensor<i32>)\n"
      "return %0#2, %0#3 : tensor<2xf32>, tensor<2xf32>",
      {Array(Floats{0, -1, 1, 0}, {2, 2})});
  EXPECT_EQ(floats(f[0]), (Floats{0, 0}));
  EXPECT_FLOAT_EQ(floats(f[1])[0], 1);
  EXPECT_FLOAT_EQ(floats(f[1])[1], -1);
}

}  // namespace
