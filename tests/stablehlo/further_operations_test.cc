// Rare operations: CHLO's that broadcast, products of groups of rows, operations of older versions,
// and LAPACK's reductions of matrices to simpler forms. The expected numbers follow from the
// definitions.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
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

// A NaN is beyond the infinity of its sign, and 0 is greater than -0.
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

// Rows 0 and 1 belong to the first group, row 2 to the second, and row 3 to none.
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

// For each batch, a sum over the positions of each group; the groups come first.
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

// Rows of two elements: the sum so far, and twice as much as the carry.
TEST(Scan, GivesResultsAndWhatItCarries) {
  const std::string region =
      "{\n^bb0(%a: tensor<2xf32>, %c: tensor<2xf32>):\n%s = stablehlo.add %a, %c : tensor<2xf32>\n"
      "%t = stablehlo.multiply %s, %two : tensor<2xf32>\n"
      "stablehlo.return %s, %t : tensor<2xf32>, tensor<2xf32>\n}";
  const std::string types =
      " : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)";
  const Array x(Floats{1, 2, 3, 10, 20, 30}, {2, 3}), start(Floats{0, 1});
  const auto scanned = [&](const std::string& operation) {
    return run("%x: tensor<2x3xf32>, %z: tensor<2xf32>", "tensor<2x3xf32>, tensor<2xf32>",
               "%two = stablehlo.constant dense<2.0> : tensor<2xf32>\n%0:2 = " + operation + types +
                   "\nreturn %0#0, %0#1 : tensor<2x3xf32>, tensor<2xf32>",
               {x, start});
  };
  const auto forward = scanned("chlo.scan(%x) inits(%z) dimension = 1 " + region);
  EXPECT_EQ(floats(forward[0]), (Floats{1, 4, 11, 11, 42, 114}));
  EXPECT_EQ(floats(forward[1]), (Floats{22, 228}));
  const auto back = scanned(
      "\"chlo.scan\"(%x, %z) <{dimension = 1 : i64, is_reverse = true, "
      "operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = "
      "array<i32: 1, 1>}> (" +
      region + ")");
  EXPECT_EQ(floats(back[0]), (Floats{17, 8, 3, 174, 82, 31}));
  EXPECT_EQ(floats(back[1]), (Floats{34, 348}));
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

// 2 x0 + x1 = 4, x0 + 2 x1 = 5; elements that are not read may be anything.
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

// (3, 4) of the first column is reflected onto -5, with tau = (beta - alpha) / beta and v = 4 /
// (alpha - beta).
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

// (3, 4) is reflected onto (-5, 0) by tau = (beta - alpha) / beta and v = 4 / (alpha - beta): the
// second column, (1, 2), becomes (-2.2, 0.4), whose last element is a block of its own.
constexpr const char* kFactors =
    "%0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, "
    "tensor<2xf32>)\n";
void near(const Array& got, const Floats& want) {
  const Floats x = floats(got);
  ASSERT_EQ(x.size(), want.size());
  // A few rounding errors of numbers up to 8.
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], want[i], 8 * 4 * 0x1p-24) << i;
}

TEST(Lapack, ReflectionsOfAFactorAreThere) {
  const Array a(Floats{3, 1, 4, 2}, {2, 2});
  const auto f =
      run("%a: tensor<2x2xf32>", "tensor<2x2xf32>, tensor<2xf32>",
          std::string(kFactors) + "return %0#0, %0#1 : tensor<2x2xf32>, tensor<2xf32>", {a});
  near(f[0], {-5, -2.2f, 0.5, 0.4f});
  near(f[1], {1.6f, 0});
  // Q itself is computed by a library call, with the same factor.
  const auto q = run("%a: tensor<2x2xf32>", "tensor<2x2xf32>",
                     std::string(kFactors) +
                         "%1 = stablehlo.custom_call @lapack_sorgqr_ffi(%0#0, %0#1) : "
                         "(tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>\n"
                         "return %1 : tensor<2x2xf32>",
                     {a});
  near(q[0], {-0.6f, -0.8f, -0.8f, 0.6f});
}

// Q is ((-0.6, -0.8), (-0.8, 0.6)), which is symmetric; it multiplies (1, 2; 3, 4).
TEST(Lapack, QTimesAMatrixFromEitherSide) {
  const Array a(Floats{3, 1, 4, 2}, {2, 2}), c(Floats{1, 2, 3, 4}, {2, 2});
  const auto product = [&](const std::string& config) {
    return run("%a: tensor<2x2xf32>, %c: tensor<2x2xf32>", "tensor<2x2xf32>",
               std::string(kFactors) +
                   "%1 = stablehlo.custom_call @lapack_sormqr_ffi(%0#0, %0#1, %c) "
                   "{mhlo.backend_config = {" +
                   config +
                   "}} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n"
                   "return %1 : tensor<2x2xf32>",
               {a, c})[0];
  };
  for (const char* transpose : {"true", "false"}) {
    near(product(std::string("left = true, transpose = ") + transpose), {-3, -4.4f, 1, 0.8f});
    near(product(std::string("left = false, transpose = ") + transpose), {-2.2f, 0.4f, -5, 0});
  }
}

// Two reflections do not commute: Q^T Q C is C, from the left and from the right, and Q^T A is R.
TEST(Lapack, ItsTransposeUndoesIt) {
  const Array a(Floats{3, 1, 4, 2, 0, 5}, {3, 2}), c(Floats{1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  const std::string packed = "tensor<3x2xf32>", taus = "tensor<2xf32>", whole = "tensor<3x3xf32>";
  const auto call = [&](const std::string& of, const std::string& t, const char* left,
                        const char* transpose) {
    return "stablehlo.custom_call @lapack_sormqr_ffi(%0#0, %0#1, " + of +
           ") {mhlo.backend_config = {left = " + left + ", transpose = " + transpose + "}} : (" +
           packed + ", " + taus + ", " + t + ") -> " + t + "\n";
  };
  const auto y = run("%a: " + packed + ", %c: " + whole, whole + ", " + whole + ", " + packed,
                     "%0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) : (" + packed + ") -> (" +
                         packed + ", " + taus + ")\n%1 = " + call("%c", whole, "true", "false") +
                         "%2 = " + call("%1", whole, "true", "true") +
                         "%3 = " + call("%c", whole, "false", "true") +
                         "%4 = " + call("%3", whole, "false", "false") +
                         "%5 = " + call("%a", packed, "true", "true") +
                         "return %2, %4, %5 : " + whole + ", " + whole + ", " + packed,
                     {a, c});
  const auto close = [](const Array& got, const Floats& want) {
    const Floats x = floats(got);
    // Two rotations of columns of length up to 12, with a few rounding errors each.
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], want[i], 16 * 8 * 0x1p-24) << i;
  };
  close(y[0], floats(c));
  close(y[1], floats(c));
  // R: the first column has length 5; the component of (1, 2, 5) along (3, 4, 0) / 5 is 2.2, and
  // sqrt(30 - 2.2^2) remains.
  const Floats r = floats(y[2]);
  EXPECT_NEAR(r[0], -5, 16 * 8 * 0x1p-24);
  EXPECT_NEAR(r[1], -2.2f, 16 * 8 * 0x1p-24);
  EXPECT_NEAR(std::abs(r[3]), std::sqrt(30 - 2.2f * 2.2f), 16 * 8 * 0x1p-24);
  for (const std::size_t zero : {2, 4, 5}) EXPECT_NEAR(r[zero], 0, 16 * 8 * 0x1p-24);
}

// The longest column comes first: of lengths 1, 5 and 2 the second, then the third.
TEST(Lapack, FactorsWithTheLongestColumnsFirst) {
  const auto f = run(
      "%a: tensor<2x3xf32>", "tensor<2x3xf32>, tensor<3xi32>, tensor<2xf32>",
      "%z = stablehlo.constant dense<0> : tensor<3xi32>\n"
      "%0:3 = stablehlo.custom_call @lapack_sgeqp3_ffi(%a, %z) : (tensor<2x3xf32>, tensor<3xi32>) "
      "-> (tensor<2x3xf32>, tensor<3xi32>, tensor<2xf32>)\n"
      "return %0#0, %0#1, %0#2 : tensor<2x3xf32>, tensor<3xi32>, tensor<2xf32>",
      {Array(Floats{1, 3, 0, 0, 4, 2}, {2, 3})});
  EXPECT_EQ(f[1].to_vector<std::int32_t>(), (Ints{2, 3, 1}));
  near(f[0], {-5, -1.6f, -0.6f, 0.5, 1.2f, -0.8f});
  near(f[2], {1.6f, 0});
}

// The (4, 3) of the last column of ((1, 0, 4), (0, 2, 3), (4, 3, 5)) becomes (0, -5) by v = (0.5,
// 1) and tau = 1.6, whose reflection turns ((1, 0), (0, 2)) into ((1.64, 0.48), (0.48, 1.36)).
TEST(Lapack, ThreeDiagonalsFromTheUpperTriangle) {
  const auto f = run(
      "%a: tensor<3x3xf32>", "tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>",
      "%0:5 = stablehlo.custom_call @lapack_ssytrd_ffi(%a) {mhlo.backend_config = {uplo = 85 : "
      "ui8}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, "
      "tensor<i32>)\nreturn %0#0, %0#1, %0#2, %0#3 : tensor<3x3xf32>, tensor<3xf32>, "
      "tensor<2xf32>, tensor<2xf32>",
      {Array(Floats{1, 0, 4, 77, 2, 3, 77, 77, 5}, {3, 3})});
  near(f[1], {1.64f, 1.36f, 5});
  near(f[2], {0.48f, -5});
  near(f[3], {0, 1.6f});
  const Floats packed = floats(f[0]);
  EXPECT_FLOAT_EQ(packed[2], 0.5);
  EXPECT_EQ(packed[3], 77);
  EXPECT_EQ(packed[7], 77);
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

// A sum of no terms is 0.
TEST(Transforms, AlongAnAxisOfNoPoints) {
  const auto whole = run("%x: tensor<2x0xcomplex<f32>>", "tensor<2x0xcomplex<f32>>",
                         "%0 = stablehlo.fft %x, type = FFT, length = [0] : "
                         "(tensor<2x0xcomplex<f32>>) -> tensor<2x0xcomplex<f32>>\n"
                         "return %0 : tensor<2x0xcomplex<f32>>",
                         {ts::zeros({2, 0}, ts::c64)});
  EXPECT_EQ(whole[0].shape(), ts::Shape({2, 0}));
  const auto half = run("%x: tensor<2x0xf32>", "tensor<2x1xcomplex<f32>>",
                        "%0 = stablehlo.fft %x, type = RFFT, length = [0] : (tensor<2x0xf32>) -> "
                        "tensor<2x1xcomplex<f32>>\nreturn %0 : tensor<2x1xcomplex<f32>>",
                        {ts::zeros({2, 0})});
  EXPECT_EQ(half[0].to_vector<std::complex<float>>(), std::vector<std::complex<float>>(2));
  const auto real = run("%x: tensor<0x1xcomplex<f64>>", "tensor<0x0xf64>",
                        "%0 = stablehlo.fft %x, type = IRFFT, length = [0, 0] : "
                        "(tensor<0x1xcomplex<f64>>) -> tensor<0x0xf64>\n"
                        "return %0 : tensor<0x0xf64>",
                        {ts::zeros({0, 1}, ts::c128)});
  EXPECT_EQ(real[0].dtype(), ts::f64);
  EXPECT_EQ(real[0].shape(), ts::Shape({0, 0}));
}

namespace {

// Sorts x, together with the positions, by a comparator of %a and %b that reads the argument %p.
std::vector<Array> sorted_by(const std::string& comparator, const Floats& x, float p) {
  const std::string n = std::to_string(x.size()), f = "tensor<" + n + "xf32>",
                    i = "tensor<" + n + "xi32>";
  return run("%x: " + f + ", %p: tensor<f32>", f + ", " + i,
             "%i = stablehlo.iota dim = 0 : " + i + R"(
    %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
)" + comparator + R"(
      stablehlo.return %r : tensor<i1>
    }) : ()" + f +
                 ", " + i + ") -> (" + f + ", " + i + ")\nreturn %0#0, %0#1 : " + f + ", " + i,
             {Array(x), Array(p)});
}

}  // namespace

// Sorts by the distance from an argument, which is a key; and the elements below it first, each
// half descending, which is not.
TEST(Sorts, ByComparatorsThatReadAnArgument) {
  const auto near = sorted_by(R"(
      %e = stablehlo.subtract %a, %p : tensor<f32>
      %g = stablehlo.abs %e : tensor<f32>
      %h = stablehlo.subtract %b, %p : tensor<f32>
      %j = stablehlo.abs %h : tensor<f32>
      %r = stablehlo.compare LT, %g, %j : (tensor<f32>, tensor<f32>) -> tensor<i1>)",
                              {1, 5, 3, 8, 2, 4}, 4);
  EXPECT_EQ(floats(near[0]), (Floats{4, 5, 3, 2, 1, 8}));
  EXPECT_EQ(near[1].to_vector<std::int32_t>(), (Ints{5, 1, 2, 4, 0, 3}));
  const auto halves = sorted_by(R"(
      %e = stablehlo.compare LT, %a, %p : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %g = stablehlo.compare LT, %b, %p : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %h = stablehlo.compare EQ, %e, %g : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %j = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %r = stablehlo.select %h, %j, %e : tensor<i1>, tensor<i1>)",
                                {1, 5, 3, 8, 2, 4}, 4);
  EXPECT_EQ(floats(halves[0]), (Floats{3, 2, 1, 8, 5, 4}));
  EXPECT_EQ(halves[1].to_vector<std::int32_t>(), (Ints{2, 4, 0, 3, 1, 5}));
}

// The order of floats as JAX writes it, by the second operand; the first is permuted along.
TEST(Sorts, ByAnyOperandInTheOrderOfFloats) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto y = run("%k: tensor<6xi32>, %x: tensor<6xf32>", "tensor<6xi32>, tensor<6xf32>", R"(
    %0:2 = "stablehlo.sort"(%k, %x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%c: tensor<i32>, %d: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %1 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %zero, %a : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.select %3, %nan, %2 : tensor<i1>, tensor<f32>
      %5 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.select %5, %zero, %b : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %nan, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<6xi32>, tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)
    return %0#0, %0#1 : tensor<6xi32>, tensor<6xf32>)",
                     {Array(Ints{0, 1, 2, 3, 4, 5}), Array(Floats{0, -nan, -0.0f, -3, nan, 2})});
  EXPECT_EQ(y[0].to_vector<std::int32_t>(), (Ints{3, 0, 2, 5, 1, 4}));
  EXPECT_TRUE(std::signbit(floats(y[1])[2]));
}

}  // namespace
