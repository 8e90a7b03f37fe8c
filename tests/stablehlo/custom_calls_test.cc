// Custom calls that JAX writes: LAPACK's routines on CPUs, the libraries in their place on GPUs,
// and JAX's own kernels there. The expected numbers follow from the definitions.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <tuple>

namespace ts = tessera;
using ts::Array;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Words = std::vector<std::uint32_t>;

ts::LoadedFunction load(const std::string& arguments, const std::string& results,
                        const std::string& body, const std::string& others = "") {
  return ts::load_stablehlo_text("module {\nfunc.func @main(" + arguments + ") -> (" + results +
                                 ") {\n" + body + "\n}\n" + others + "\n}");
}

// A call with a 2 x 2 matrix that returns a matrix and whether it was refused.
std::vector<Array> factor(const std::string& target, const std::string& config, const Floats& a) {
  const auto f =
      load("%a: tensor<2x2xf32>", "tensor<2x2xf32>, tensor<i32>",
           "%0:2 = stablehlo.custom_call @" + target + "(%a) {mhlo.backend_config = {" + config +
               "}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)\n"
               "return %0#0, %0#1 : tensor<2x2xf32>, tensor<i32>");
  return f(Array(a, {2, 2}));
}

TEST(CustomCalls, CholeskyLeavesTheOtherTriangleAsItIs) {
  for (const auto& [target, config] : {std::pair("lapack_spotrf_ffi", "uplo = 76 : ui8"),
                                       std::pair("cusolver_potrf_ffi", "lower = true"),
                                       std::pair("hipsolver_potrf_ffi", "lower = true")}) {
    const auto out = factor(target, config, {4, 99, 2, 5});
    EXPECT_EQ(out[0].to_vector<float>(), (Floats{2, 99, 1, 2})) << target;
    EXPECT_EQ(out[1].item<int>(), 0) << target;
  }
  for (const auto& [target, config] : {std::pair("lapack_spotrf_ffi", "uplo = 85 : ui8"),
                                       std::pair("cusolver_potrf_ffi", "lower = false")}) {
    const auto out = factor(target, config, {4, 2, 99, 5});
    EXPECT_EQ(out[0].to_vector<float>(), (Floats{2, 1, 99, 2})) << target;
  }
}

TEST(CustomCalls, CholeskySaysThatItRefusesAMatrix) {
  EXPECT_EQ(factor("lapack_spotrf_ffi", "uplo = 76 : ui8", {1, 0, 2, 1})[1].item<int>(), 1);
}

TEST(CustomCalls, LeftEigenvectors) {
  const auto f = load(
      "%a: tensor<2x2xf32>", "tensor<2xf32>, tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>",
      "%0:5 = stablehlo.custom_call @lapack_sgeev_ffi(%a) {mhlo.backend_config = {compute_left = "
      "86 "
      ": ui8, compute_right = 86 : ui8}} : (tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>, "
      "tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>, tensor<i32>)\n"
      "return %0#0, %0#2, %0#3 : tensor<2xf32>, tensor<2x2xcomplex<f32>>, "
      "tensor<2x2xcomplex<f32>>");
  const auto out = f(Array(Floats{1, 2, 0, 3}, {2, 2}));
  EXPECT_EQ(out[0].to_vector<float>(), (Floats{1, 3}));
  // (1, -1) A = (1, -1) and (0, 1) A = 3 (0, 1); A (1, 0) = (1, 0) and A (1, 1) = 3 (1, 1).
  const float h = std::sqrt(0.5f);
  const Floats left{h, 0, -h, 1}, right{1, h, 0, h};
  const auto near = [](const Array& got, const Floats& want) {
    const Floats parts = ts::real(got).to_vector<float>();
    // A few rounding errors of numbers up to 1.
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(parts[i], want[i], 4 * 6e-8) << i;
    EXPECT_EQ(ts::imag(got).to_vector<float>(), Floats(want.size(), 0));
  };
  near(out[1], left);
  near(out[2], right);
}

TEST(CustomCalls, EigenvaluesAsGpusFindThem) {
  const auto f = load("%a: tensor<2x2xf32>", "tensor<2xf32>",
                      "%0:3 = stablehlo.custom_call @cusolver_syevd_ffi(%a) {mhlo.backend_config = "
                      "{algorithm = 0 : ui8, lower = true}} : (tensor<2x2xf32>) -> "
                      "(tensor<2x2xf32>, tensor<2xf32>, tensor<i32>)\n"
                      "return %0#1 : tensor<2xf32>");
  const Floats w = f.single()(Array(Floats{2, 77, 1, 2}, {2, 2})).to_vector<float>();
  EXPECT_FLOAT_EQ(w[0], 1);
  EXPECT_FLOAT_EQ(w[1], 3);
}

TEST(CustomCalls, TheGreatestAndTheLeastAreExact) {
  const auto ranked = [](const std::string& direction, int count) {
    const std::string n = std::to_string(count);
    const auto f = load(
        "%x: tensor<5xf32>", "tensor<" + n + "xf32>, tensor<" + n + "xi32>",
        "%i = stablehlo.iota dim = 0 : tensor<5xi32>\n"
        "%none = stablehlo.constant dense<-1> : tensor<i32>\n"
        "%start = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %start, %none) {called_computations = "
        "[@order], mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.9 : f32, "
        "reduction_dim = 0 : i64, top_k = 2 : i64}} : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, "
        "tensor<i32>) -> (tensor<" +
            n + "xf32>, tensor<" + n + "xi32>)\nreturn %0#0, %0#1 : tensor<" + n +
            "xf32>, tensor<" + n + "xi32>",
        "func.func private @order(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: "
        "tensor<i32>) -> tensor<i1> {\n%0 = stablehlo.compare " +
            direction +
            ", %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\nreturn %0 : tensor<i1>\n}");
    return f(Array(Floats{3, 1, 4, 1, 5}));
  };
  const auto greatest = ranked("GT", 2), least = ranked("LT", 3);
  EXPECT_EQ(greatest[0].to_vector<float>(), (Floats{5, 4}));
  EXPECT_EQ(greatest[1].to_vector<std::int32_t>(), (Ints{4, 2}));
  EXPECT_EQ(least[0].to_vector<float>(), (Floats{1, 1, 3}));
  EXPECT_EQ(least[1].to_vector<std::int32_t>(), (Ints{1, 3, 0}));
}

// The known answers distributed with Random123 (D. E. Shaw Research).
TEST(CustomCalls, RandomBlocksOfGpus) {
  for (const char* target : {"cu_threefry2x32_ffi", "hip_threefry2x32_ffi"}) {
    const std::string v = "tensor<3xui32>";
    const auto f =
        load("%a: " + v + ", %b: " + v + ", %c: " + v + ", %d: " + v, v + ", " + v,
             std::string("%0:2 = stablehlo.custom_call @") + target +
                 "(%a, %b, %c, %d) {mhlo.backend_config = {}} : (" + v + ", " + v + ", " + v +
                 ", " + v + ") -> (" + v + ", " + v + ")\nreturn %0#0, %0#1 : " + v + ", " + v);
    const auto out =
        f(Array(Words{0, 0xffffffff, 0x13198a2e}), Array(Words{0, 0xffffffff, 0x03707344}),
          Array(Words{0, 0xffffffff, 0x243f6a88}), Array(Words{0, 0xffffffff, 0x85a308d3}));
    EXPECT_EQ(out[0].to_vector<std::uint32_t>(), (Words{0x6b200159, 0x1cb996fc, 0xc4923a9c}));
    EXPECT_EQ(out[1].to_vector<std::uint32_t>(), (Words{0x99ba4efe, 0xbb002be7, 0x483df7a0}));
  }
}

TEST(CustomCalls, ExchangesOfRowsAsAPermutation) {
  const auto f = load("%p: tensor<2x3xi32>", "tensor<2x4xi32>",
                      "%0 = stablehlo.custom_call @cu_lu_pivots_to_permutation(%p) "
                      "{mhlo.backend_config = {}} : (tensor<2x3xi32>) -> tensor<2x4xi32>\n"
                      "return %0 : tensor<2x4xi32>");
  // The exchanges turn 0123 into 2103 and then 2013, and exchange the last row with itself. The
  // second batch also names a row that does not exist.
  EXPECT_EQ(f.single()(Array(Ints{2, 2, 2, 9, 3, -1}, {2, 3})).to_vector<std::int32_t>(),
            (Ints{2, 0, 1, 3, 0, 3, 2, 1}));
}

TEST(CustomCalls, PlacesAndMemoryAreNothingToCompute) {
  const auto f = load("%x: tensor<2xf32>", "tensor<2xf32>",
                      "%0 = stablehlo.custom_call @AllocateBuffer() : () -> tensor<2xf32>\n"
                      "%1 = stablehlo.multiply %0, %0 : tensor<2xf32>\n"
                      "%2 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%x) "
                      "{has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>\n"
                      "return %2 : tensor<2xf32>");
  EXPECT_EQ(f.single()(Array(Floats{1, 2})).to_vector<float>(), (Floats{1, 2}));
}

// The error for a call of Python, whichever form of JAX's it has.
TEST(CustomCalls, PythonFunctionsAreRefusedByTheirNumber) {
  for (const auto& [target, config, which] :
       {std::tuple("xla_ffi_python_cpu_callback", "{index = 3 : ui64}", " 3"),
        std::tuple("xla_python_cpu_callback", "\"94\"", ""),
        std::tuple("xla_ffi_partitioned_python_cpu_callback", "{index = 0 : ui64}", " 0")}) {
    std::string text;
    try {
      load("%x: tensor<f32>", "tensor<f32>",
           "%0 = stablehlo.custom_call @" + std::string(target) + "(%x) {mhlo.backend_config = " +
               config + "} : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>");
    } catch (const ts::IoError& e) {
      text = e.what();
    }
    EXPECT_NE(text.find("it calls Python function" + std::string(which) +
                        " of the process that exported the module (" + target + ")"),
              std::string::npos)
        << text;
  }
}

// JAX 0.4 writes operations of mhlo into artifacts like this.
TEST(CustomCalls, OperationsOfMhlo) {
  const auto f = load(
      "%x: tensor<4xf32>", "tensor<2xf32>, tensor<2xi32>, tensor<4xf32>, tensor<4xf32>",
      "%0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = "
      "true}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
      "%1 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : "
      "(tensor<4xf32>) -> tensor<4xf32>\n"
      "%2 = stablehlo.custom_call @mhlo.tan(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : "
      "(tensor<4xf32>) -> tensor<4xf32>\n"
      "return %0#0, %0#1, %1, %2 : tensor<2xf32>, tensor<2xi32>, tensor<4xf32>, tensor<4xf32>");
  const Floats x{0.5f, 3, -1, 2};
  const auto y = f(Array(x));
  EXPECT_EQ(y[0].to_vector<float>(), (Floats{3, 2}));
  EXPECT_EQ(y[1].to_vector<std::int32_t>(), (Ints{1, 3}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(y[2](i).item<float>(), std::erf(x[static_cast<std::size_t>(i)]), 1e-6);
    EXPECT_NEAR(y[3](i).item<float>(), std::tan(x[static_cast<std::size_t>(i)]), 1e-5);
  }
}

// Its last operand is the number of elements, which follows from shapes.
TEST(CustomCalls, GreatestElementsOfANumberThatShapesSay) {
  const auto f = load(
      "%x: tensor<?xf32>", "tensor<?xf32>, tensor<?xi32>",
      R"(%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %k = stablehlo.divide %n, %two : tensor<i32>
    %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %results = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
    %i = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %none = stablehlo.constant dense<-1> : tensor<i32>
    %0:2 = stablehlo.custom_call @stablehlo.dynamic_approx_top_k(%x, %i, %low, %none, %k, %results, %results) {called_computations = [@before], indices_of_shape_operands = dense<[5, 6]> : tensor<2xi64>, mhlo.backend_config = {reduction_dim = 0 : i64, recall_target = 9.5e-1 : f32, aggregate_to_topk = true, reduction_input_size_override = -1 : i64}} : (tensor<?xf32>, tensor<?xi32>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<?xf32>, tensor<?xi32>)
    return %0#0, %0#1 : tensor<?xf32>, tensor<?xi32>)",
      R"(func.func private @before(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  })");
  const auto y = f(Array(Floats{4, 9, 1, 7, 8, 2, 0}));
  EXPECT_EQ(y[0].to_vector<float>(), (Floats{9, 8, 7}));
  EXPECT_EQ(y[1].to_vector<std::int32_t>(), (Ints{1, 4, 3}));
  EXPECT_EQ(f(Array(Floats{4, 9, 1, 7}))[0].to_vector<float>(), (Floats{9, 7}));
}

// Zero pivots are replaced by the rounding error of the largest element, 4 here; others stay.
TEST(CustomCalls, TridiagonalSystemsThatAreSingular) {
  const auto f =
      load("%l: tensor<3xf32>, %d: tensor<3xf32>, %u: tensor<3xf32>, %b: tensor<3x1xf32>",
           "tensor<3x1xf32>",
           "%0 = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%l, %d, %u, %b) : "
           "(tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>\n"
           "return %0 : tensor<3x1xf32>");
  const Array none = ts::zeros({3}), b(Floats{1, 2, 3}, {3, 1});
  EXPECT_EQ(f(none, Array(Floats{2, 0, 4}), none, b)[0].to_vector<float>(),
            (Floats{0.5f, 2 / (4 * std::numeric_limits<float>::epsilon()), 0.75f}));
  EXPECT_EQ(f(none, Array(Floats{2, -1e-8f, 4}), none, b)[0].to_vector<float>(),
            (Floats{0.5f, 2 / -1e-8f, 0.75f}));
  const Array regular =
      f(Array(Floats{0, 1, 1}), Array(Floats{2, 3, 4}), Array(Floats{1, 2, 0}), b)[0];
  const Floats want{0.5f, 0, 0.75f};
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(regular(i, 0).item<float>(), want[static_cast<std::size_t>(i)], 1e-6);
}

// Marked columns come first, in the order in which LAPACK exchanges them to the front, and R has
// them in this order.
TEST(CustomCalls, FactorsWithColumnsThatGoFirst) {
  const auto f = load("%a: tensor<3x3xf64>, %p: tensor<3xi32>",
                      "tensor<3x3xf64>, tensor<3xi32>, tensor<3xf64>",
                      "%0:3 = stablehlo.custom_call @lapack_dgeqp3_ffi(%a, %p) : (tensor<3x3xf64>, "
                      "tensor<3xi32>) -> (tensor<3x3xf64>, tensor<3xi32>, tensor<3xf64>)\n"
                      "return %0#0, %0#1, %0#2 : tensor<3x3xf64>, tensor<3xi32>, tensor<3xf64>");
  const std::vector<double> a{3, 1, 0, 4, 0, 2, 0, 0, 9};
  const auto sizes = [&](const Ints& marks) {
    const auto out = f(Array(a, {3, 3}), Array(marks));
    std::vector<double> first;
    for (int i = 0; i < 3; ++i) first.push_back(std::abs(out[0](i, i).item<double>()));
    return std::pair(out[1].to_vector<std::int32_t>(), first);
  };
  // The longest column comes first: |(0, 2, 9)|, then (3, 4, 0).
  EXPECT_EQ(sizes({0, 0, 0}).first, (Ints{3, 1, 2}));
  const auto [columns, diagonal] = sizes({0, 7, 0});
  EXPECT_EQ(columns, (Ints{2, 3, 1}));
  EXPECT_NEAR(diagonal[0], 1, 1e-14);
  EXPECT_NEAR(diagonal[1], std::sqrt(85.0), 1e-14);
  EXPECT_EQ(sizes({1, 1, 1}).first, (Ints{1, 2, 3}));
}

// Elements before the first row and after the last one belong to no row, even if they are NaN; the
// second row is empty. JAX's numbers.
TEST(CustomCalls, ProductsOfSparseRows) {
  const auto product = [](const std::string& element, const std::string& dense) {
    const std::string operands = "tensor<6x" + element +
                                 ">, tensor<4xi32>, tensor<6xi32>, tensor<" + dense + "x" +
                                 element + ">",
                      result = "tensor<" + dense + "x" + element + ">";
    return load(
        "%a: tensor<6x" + element + ">, %p: tensor<4xi32>, %c: tensor<6xi32>, %x: " + result,
        result,
        "%0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%a, %p, %c, %x) : (" + operands +
            ") -> " + result + "\nreturn %0 : " + result);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array data(Floats{1, 2, 3, 4, nan, 7}), columns(Ints{0, 2, 1, 2, 0, 1}),
      starts(Ints{0, 2, 2, 4}), x(Floats{1, 10, 100});
  const auto of_vector = product("f32", "3");
  EXPECT_EQ(of_vector(data, starts, columns, x)[0].to_vector<float>(), (Floats{201, 0, 430}));
  const Floats second = of_vector(data, Array(Ints{1, 2, 2, 5}), columns, x)[0].to_vector<float>();
  EXPECT_EQ(second[0], 200);
  EXPECT_EQ(second[1], 0);
  EXPECT_TRUE(std::isnan(second[2]));
  const Array y(Floats{1, -1, 10, 5, 100, 2}, {3, 2});
  EXPECT_EQ(product("f32", "3x2")(data, starts, columns, y)[0].to_vector<float>(),
            (Floats{201, 3, 0, 0, 430, 23}));
  const auto turned = product("complex<f32>", "3x2")(data.astype(ts::c64), starts, columns,
                                                     y * std::complex<float>(0, 1));
  EXPECT_EQ(ts::imag(turned[0]).to_vector<float>(), (Floats{201, 3, 0, 0, 430, 23}));
  EXPECT_EQ(product("i32", "3")(data.astype(ts::i32), starts, columns, x.astype(ts::i32))[0]
                .to_vector<std::int32_t>(),
            (Ints{201, 0, 430}));
}

// Calls that mark a value as used, or show its sharding where XLA's partitioner runs.
TEST(CustomCalls, MarksOfValues) {
  const auto f = load("%a: tensor<2xf32>", "tensor<2xf32>",
                      "stablehlo.custom_call @dce_sink(%a) {has_side_effect = true} : "
                      "(tensor<2xf32>) -> ()\n"
                      "%0 = stablehlo.custom_call @InspectSharding(%a) {has_side_effect = true} : "
                      "(tensor<2xf32>) -> tensor<2xf32>\n"
                      "return %a : tensor<2xf32>");
  EXPECT_EQ(f(Array(Floats{1, 2}))[0].to_vector<float>(), (Floats{1, 2}));
}

}  // namespace
