// Writing and reading files, functions of any size, and modules for several devices.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

namespace ts = tessera;
using ts::Array;

namespace {

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const ts::Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Saved, IsReadBackWithNamesAndDerivatives) {
  const std::string path = testing::TempDir() + "/saved.mlir";
  const Array captured = ts::arange(20).astype(ts::f32);
  const auto f = [&](std::pair<Array, Array> p, Array x) {
    return ts::sum(p.first * ts::sin(x)) + ts::sum(p.second * captured);
  };
  const Array a = ts::ones({3}), b = ts::ones({20}), x = Array(std::vector<float>{1, 2, 3});
  ts::save_stablehlo(f, std::pair(a, b), x, path);
  const ts::LoadedFunction g = ts::load_stablehlo(path);
  ASSERT_EQ(g.inputs().size(), 3u);
  EXPECT_EQ(g.inputs()[0], (ts::ArrayType{"args[0]/0", ts::f32, {3}}));
  EXPECT_EQ(g.inputs()[2].name, "args[1]");
  EXPECT_EQ(g.outputs()[0].name, "result");
  EXPECT_EQ(g(a, b, x)[0].item<float>(), f({a, b}, x).item<float>());
  const Array dx = ts::grad([&](Array x) { return g(a, b, x)[0]; })(x);
  EXPECT_TRUE(ts::array_equal(dx, ts::grad([&](Array x) { return f({a, b}, x); })(x)).item<bool>());
  std::filesystem::remove(path);
}

TEST(Saved, SaysWhatCannotBe) {
  const auto f = [](Array x) { return x + 1.0; };
  EXPECT_EQ(message_of([&] {
              ts::save_stablehlo(f, ts::ones({2}), "/proc/nowhere/f.mlir");
            }).substr(0, 61),
            "save_stablehlo: /proc/nowhere/f.mlir cannot be written: No su");
}

constexpr const char* kRows = R"(func.func @main(%x: tensor<?x3xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %2 = stablehlo.constant dense<2> : tensor<i32>
  %more = stablehlo.compare GE, %n, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%more, %n) {error_message = "there are {0} rows"} : (tensor<i1>, tensor<i32>) -> ()
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [1] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
})";

// Each size has a program with its own constants; those of the last sizes are kept.
TEST(AnySize, KeepsTheProgramsOfTheLastSizesOnly) {
  constexpr int kElements = 16384, kSizes = 200;
  std::string digits;
  for (int i = 0; i < kElements; ++i) digits += "0000803F";
  const std::string constant = "tensor<" + std::to_string(kElements) + "xf32>";
  const ts::LoadedFunction f = ts::load_stablehlo_text(
      "func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, " + constant + ") {\n" +
      "  %c = stablehlo.constant dense<\"0x" + digits + "\"> : " + constant + "\n" +
      "  %y = stablehlo.add %x, %x : tensor<?xf32>\n" + "  return %y, %c : tensor<?xf32>, " +
      constant + "\n}");
  const ts::Device device = ts::devices()[0];
  std::int64_t most = 0;
  const std::int64_t before = ts::memory_stats(device).live;
  for (int round = 0; round < 2; ++round)
    for (int n = 1; n <= kSizes; ++n) {
      const std::vector<Array> results = f(ts::ones({n}));
      EXPECT_EQ(ts::sum(results[0]).item<float>(), 2.0f * static_cast<float>(n));
      EXPECT_EQ(ts::sum(results[1]).item<float>(), float{kElements});
      most = std::max(most, ts::memory_stats(device).live - before);
    }
  EXPECT_GT(most, 60 * 4 * kElements);
  EXPECT_LT(most, 70 * 4 * kElements);
}

TEST(AnySize, IsSettledByEachCall) {
  const ts::LoadedFunction f = ts::load_stablehlo_text(kRows);
  EXPECT_EQ(f.inputs()[0].shape, (ts::Shape{-1, 3}));
  EXPECT_EQ(f.outputs()[0].shape, (ts::Shape{-1}));
  for (std::int64_t rows : {2, 5, 2}) {
    const Array x = ts::arange(3 * rows).astype(ts::f32).reshape({rows, 3});
    EXPECT_TRUE(ts::array_equal(f(x)[0], ts::sum(x, {.axis = 1})).item<bool>());
  }
  EXPECT_EQ(message_of([&] {
              f(std::vector<Array>{ts::ones({1, 3})}, std::source_location());
            }),
            "@main: there are 1 rows\n"
            "  rule: the module asserts what it was exported for\n"
            "  try: call it with arguments of such shapes");
  EXPECT_EQ(message_of([&] {
              f(std::vector<Array>{ts::ones({4, 2})}, std::source_location());
            }),
            "@main: these arguments do not match its parameters:\n"
            "  - x is f32[?,3], and gets f32[4,2]\n"
            "  rule: dtypes and shapes are those that it was exported for\n"
            "  try: convert and reshape the arguments as inputs() says");
}

// A call of another library's code has the shapes of its results after its operands: the solutions
// of 2 y = x, one per row of x.
TEST(AnySize, ACallGetsTheShapesOfItsResults) {
  const ts::LoadedFunction f = ts::load_stablehlo_text(R"(
func.func @main(%x: tensor<?x1xf32>) -> (tensor<?x1xf32>, tensor<?xi32>) {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x1xf32>) -> tensor<i32>
  %rows = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %shape = stablehlo.concatenate %rows, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %square = stablehlo.concatenate %rows, %rows, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %row = stablehlo.dynamic_iota %square, dim = 0 : (tensor<2xi32>) -> tensor<?x?xi32>
  %column = stablehlo.dynamic_iota %square, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi32>
  %on = stablehlo.compare EQ, %row, %column : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi1>
  %unit = stablehlo.convert %on : (tensor<?x?xi1>) -> tensor<?x?xf32>
  %a = stablehlo.add %unit, %unit : tensor<?x?xf32>
  %y = stablehlo.custom_call @lapack_strsm_ffi(%a, %x, %shape) {indices_of_shape_operands = dense<2> : tensor<1xi64>, mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<?x?xf32>, tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x1xf32>
  %none = stablehlo.constant dense<> : tensor<0xi32>
  %lu:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a, %square, %rows, %none) {indices_of_shape_operands = dense<[1, 2, 3]> : tensor<3xi64>} : (tensor<?x?xf32>, tensor<2xi32>, tensor<1xi32>, tensor<0xi32>) -> (tensor<?x?xf32>, tensor<?xi32>, tensor<i32>)
  return %y, %lu#1 : tensor<?x1xf32>, tensor<?xi32>
}
)");
  const auto y =
      f(std::vector<Array>{Array(std::vector<float>{2, 4, 6}, {3, 1})}, std::source_location());
  EXPECT_EQ(y[0].to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(y[1].to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 3}));
}

TEST(AnySize, WhatDataDecideIsRefusedByPlace) {
  const ts::LoadedFunction f = ts::load_stablehlo_text(
      "func.func @main(%x: tensor<?xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {\n"
      "  %0 = stablehlo.dynamic_reshape %x, %n : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
      "  return %0 : tensor<?xf32>\n}");
  EXPECT_EQ(
      message_of([&] {
        f(std::vector<Array>{ts::ones({4}), Array(std::vector<std::int32_t>{4})},
          std::source_location());
      }).substr(0, 117),
      "load_stablehlo: line 2, column 8: stablehlo.dynamic_reshape: its operand 1 is not known "
      "before the program runs\n     ");
}

TEST(Devices, AModuleOfSeveralReplicasTakesRows) {
  ASSERT_GE(ts::device_count(), 4);
  const ts::LoadedFunction f =
      ts::load_stablehlo_text(R"(module @m attributes {mhlo.num_replicas = 4 : i32} {
  func.func public @main(%x: tensor<2xf32> loc("x")) -> (tensor<2xf32>, tensor<ui32>) {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = stablehlo.replica_id : tensor<ui32>
    return %0, %1 : tensor<2xf32>, tensor<ui32>
  }
})");
  EXPECT_EQ(f.inputs()[0].shape, (ts::Shape{4, 2}));
  const std::vector<Array> y = f(ts::arange(8).astype(ts::f32).reshape({4, 2}));
  EXPECT_EQ(y[0].to_vector<float>(), (std::vector<float>{2, 4, 2, 4, 10, 12, 10, 12}));
  EXPECT_EQ(y[1].to_vector<std::uint32_t>(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

// Runs on four replicas; `element` is the type, and `region` combines %a and %b.
std::vector<Array> reduced(const std::string& op, const std::string& attributes,
                           const std::string& element, const std::string& region, Array x,
                           const std::string& from, const std::string& to) {
  const std::string t = "tensor<" + element + ">";
  const ts::LoadedFunction f = ts::load_stablehlo_text(
      "module @m attributes {mhlo.num_replicas = 4 : i32} {\n  func.func public @main(%x: tensor<" +
      from + ">) -> tensor<" + to + "> {\n    %0 = \"stablehlo." + op + "\"(%x) <{" + attributes +
      "}> ({\n    ^bb0(%a: " + t + ", %b: " + t + "):\n      " + region +
      "\n      stablehlo.return %s : " + t + "\n    }) : (tensor<" + from + ">) -> tensor<" + to +
      ">\n    return %0 : tensor<" + to + ">\n  }\n}");
  return f(std::move(x));
}
const std::string kPairs = "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>";
const std::string kAll = "replica_groups = dense<[[0, 2, 1, 3]]> : tensor<1x4xi64>";

// The replicas have 1 2 | 3 4 | 5 6 | 7 8.
TEST(Devices, ReductionsByAnyRegion) {
  const Array x = (ts::arange(8) + 1).astype(ts::f32).reshape({4, 2});
  using Floats = std::vector<float>;
  const auto floats = [&](const std::string& groups, const std::string& region) {
    return reduced("all_reduce", groups, "f32", region, x, "2xf32", "2xf32")[0].to_vector<float>();
  };
  EXPECT_EQ(floats(kPairs, "%s = stablehlo.multiply %a, %b : tensor<f32>"),
            (Floats{3, 8, 3, 8, 35, 48, 35, 48}));
  // The operation is not associative, so the group's order counts: 2 (2 (2 1 + 5) + 3) + 7 = 41.
  EXPECT_EQ(floats(kAll,
                   "%t = stablehlo.add %a, %a : tensor<f32>\n      %s = stablehlo.add %t, %b : "
                   "tensor<f32>"),
            (Floats{41, 56, 41, 56, 41, 56, 41, 56}));
  // No groups mean all replicas together.
  EXPECT_EQ(floats("replica_groups = dense<> : tensor<0x0xi64>",
                   "%s = stablehlo.maximum %a, %b : tensor<f32>"),
            (Floats{7, 8, 7, 8, 7, 8, 7, 8}));
  // Sums have a wider type than their terms: 3 * 100 does not fit int8.
  const std::vector<Array> wide = [&] {
    const ts::LoadedFunction f = ts::load_stablehlo_text(
        "module @m attributes {mhlo.num_replicas = 4 : i32} {\n  func.func public @main(%x: "
        "tensor<1xi8>) -> tensor<1xi32> {\n    %0 = \"stablehlo.all_reduce\"(%x) <{" +
        kAll +
        "}> ({\n    ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n      %s = stablehlo.add %a, %b : "
        "tensor<i32>\n      stablehlo.return %s : tensor<i32>\n    }) : (tensor<1xi8>) -> "
        "tensor<1xi32>\n    return %0 : tensor<1xi32>\n  }\n}");
    return f(ts::full({4, 1}, 100, ts::i8));
  }();
  EXPECT_EQ(wide[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{400, 400, 400, 400}));
}

TEST(Devices, ReductionsOfBooleans) {
  const Array x =
      ts::astype(Array(std::vector<std::int32_t>{1, 0, 1, 1, 0, 0, 1, 0}, {4, 2}), ts::bool_);
  const auto numbers = [&](const std::string& region) {
    return ts::astype(
               reduced("all_reduce", kPairs, "i1",
                       "%s = stablehlo." + region + " %a, %b : tensor<i1>", x, "2xi1", "2xi1")[0],
               ts::i32)
        .to_vector<std::int32_t>();
  };
  using Ints = std::vector<std::int32_t>;
  for (const char* any : {"or", "add", "maximum"})
    EXPECT_EQ(numbers(any), (Ints{1, 1, 1, 1, 1, 0, 1, 0})) << any;
  for (const char* all : {"and", "multiply", "minimum"})
    EXPECT_EQ(numbers(all), (Ints{1, 0, 1, 0, 0, 0, 0, 0})) << all;
  EXPECT_EQ(numbers("xor"), (Ints{0, 1, 0, 1, 1, 0, 1, 0}));
}

// The replicas have 1 2 3 4 | 5 6 7 8 | ... : the first of a pair gets the first half.
TEST(Devices, PartsOfReductionsByAnyRegion) {
  const Array x = (ts::arange(16) + 1).astype(ts::f32).reshape({4, 4});
  using Floats = std::vector<float>;
  const auto floats = [&](const std::string& op) {
    return reduced("reduce_scatter", kPairs + ", scatter_dimension = 0 : i64", "f32",
                   "%s = stablehlo." + op + " %a, %b : tensor<f32>", x, "4xf32", "2xf32")[0]
        .to_vector<float>();
  };
  EXPECT_EQ(floats("add"), (Floats{6, 8, 10, 12, 22, 24, 26, 28}));
  EXPECT_EQ(floats("maximum"), (Floats{5, 6, 7, 8, 13, 14, 15, 16}));
  EXPECT_EQ(floats("minimum"), (Floats{1, 2, 3, 4, 9, 10, 11, 12}));
  EXPECT_EQ(floats("subtract"), (Floats{-4, -4, -4, -4, -4, -4, -4, -4}));
}

// Threads call one function with arguments in different places, while programs are dropped from its
// cache.
TEST(Devices, ThreadsCallOneFunction) {
  const ts::LoadedFunction f =
      ts::load_stablehlo_text(R"(func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<64xf32>
  return %0 : tensor<64xf32>
})");
  const Array x = ts::arange(64).astype(ts::f32);
  const std::vector<float> want = (x * x).to_vector<float>();
  constexpr int kThreads = 6, kCalls = 60;  // more placements than are remembered
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const ts::Mesh mesh({{"rows", 2}});
      for (int i = 0; i < kCalls; ++i) {
        const Array a =
            t == 5 ? ts::device_put(x, mesh, ts::P("rows")) : ts::device_put(x, ts::Device{t});
        wrong += f(a)[0].to_vector<float>() != want;
        if (t == 0 && i % 10 == 9) ts::clear_caches();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// A donated array is refused by name, also if an earlier call ran with it; after that the function
// still works.
TEST(Devices, WhatWasDonatedIsRefusedAndTheFunctionGoesOn) {
  const ts::LoadedFunction f =
      ts::load_stablehlo_text(R"(func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %0 = stablehlo.negate %x : tensor<4096xf32>
  return %0 : tensor<4096xf32>
})");
  const Array x = ts::ones({4096});
  EXPECT_EQ(f(x)[0].to_vector<float>(), std::vector<float>(4096, -1));
  const Array y = ts::jit([](Array v) { return v + 1; }, {.donate = {0}})(x);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(4096, 2));
  const std::string text = message_of([&] { (void)f(x); });
  EXPECT_EQ(text.substr(0, text.find(" was donated to")), "main: the array f32[4096]") << text;
  EXPECT_EQ(f(y)[0].to_vector<float>(), std::vector<float>(4096, -2));
}

// If there are as many devices as the mesh has, results have the file's shardings; otherwise they
// are whole. A call reuses the program of an earlier call with arguments in the same places, even
// if that is no longer cached, and never that of a call with arguments in other places.
TEST(Devices, CallsFollowTheirArguments) {
  const ts::LoadedFunction f = ts::load_stablehlo_text(
      R"(func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.add %x, %y : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
})");
  const Array x = ts::arange(32).astype(ts::f32).reshape(8, 4);
  const ts::Mesh mesh({{"data", 4}}), others({{"rows", 2}, {"columns", 2}});
  const std::vector<Array> placed{
      x,
      ts::device_put(x, ts::Device{1}),
      ts::device_put(x, ts::Device{2}),
      ts::device_put(x, mesh, ts::P("data")),
      ts::device_put(x, others, ts::P("rows", "columns")),
      ts::device_put(x, others, ts::P("rows")),
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (const Array& a : placed) {
      const Array sum = f(a, x)[0];
      EXPECT_TRUE(ts::array_equal(ts::device_put(sum, ts::Device{0}), x + x).item<bool>());
      EXPECT_EQ(sum.sharding(), (a + x).sharding());
    }
    if (turn == 1) ts::clear_caches();
  }
}

TEST(Devices, ShardingsAreKeptWhereTheyFit) {
  const int n = ts::device_count();
  const std::string text =
      "module @m {\n  sdy.mesh @mesh = <[\"x\"=" + std::to_string(n) +
      "]> {a.b = {}}\n"
      "  func.func @main(%x: tensor<16x2xf32>) -> (tensor<16x2xf32> {sdy.sharding = "
      "#sdy.sharding<@mesh, [{\"x\"}, {}]>}) {\n"
      "    %0 = stablehlo.add %x, %x : tensor<16x2xf32>\n    return %0 : tensor<16x2xf32>\n  }\n}";
  const Array x = ts::arange(32).astype(ts::f32).reshape({16, 2});
  for (const bool kept : {true, false}) {
    const Array y = ts::load_stablehlo_text(text, {.shardings = kept})(x)[0];
    EXPECT_TRUE(ts::array_equal(y, x + x).item<bool>());
    EXPECT_EQ(y.shards().size(), kept ? static_cast<std::size_t>(n) : 1u);
  }
}

}  // namespace
