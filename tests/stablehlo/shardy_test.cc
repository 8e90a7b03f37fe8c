// Shardy's operations and shardings in all forms; the values are worked out by hand.
#include <tessera/tessera.h>

#include "message.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

namespace ts = tessera;
using test::message;
using ts::Array;

namespace {

class Shardy : public testing::Test {
 protected:
  Shardy() { ts::set_device_count(4); }
  ~Shardy() override { ts::set_device_count(before_); }
  const int before_ = ts::device_count();
};

using Floats = std::vector<float>;

Floats run(const std::string& text, const std::vector<Array>& arguments) {
  return ts::load_stablehlo_text(text)(arguments)[0].to_vector<float>();
}

// "load_stablehlo_text: line 3, column 6: ..."
std::string problem(const std::string& text) {
  const std::string whole = message<ts::IoError>([&] { ts::load_stablehlo_text(text); });
  return whole.substr(0, whole.find('\n'));
}

// Collectives and constraints move an array and do not change it: 2 * (a + a). Afterwards the
// devices along "y" have the same array, as partial sums.
TEST_F(Shardy, AllOperationsInAllForms) {
  const Array a = ts::arange(128).astype(ts::f32).reshape({16, 8}), u = ts::ones({16, 8});
  for (const char* file : {"shardy.mlir", "shardy_generic.mlir", "shardy.mlirbc"}) {
    const auto f = ts::load_stablehlo(std::string(TESSERA_TEST_DIR "/stablehlo/exported/") + file);
    EXPECT_TRUE(ts::array_equal(f(a, u)[0], a * 8).item<bool>()) << file;
  }
}

// A per-device computation on a 2 x 2 mesh: `body` computes %r from %b, a block of f32[4].
std::string manual(const std::string& in, const std::string& out, const std::string& axes,
                   const std::string& block, const std::string& body,
                   const std::string& result = "tensor<4xf32>",
                   const std::string& mesh = R"(<["x"=2, "y"=2]>)") {
  return "sdy.mesh @mesh = " + mesh + "\nfunc.func @main(%a: tensor<4xf32>) -> " + result +
         " {\n  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [" + in +
         ">] out_shardings=[<@mesh, [" + out + ">] manual_axes={" + axes + "} (%b: " + block +
         ") {\n" + body + "  } : (tensor<4xf32>) -> " + result + "\n  return %0 : " + result +
         "\n}";
}
std::string reduction(const std::string& name, const std::string& groups, const std::string& type) {
  return "    %" + name +
         " = \"stablehlo.all_reduce\"(%b) <{channel_handle = "
         "#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<" +
         groups +
         "> : tensor<2x2xi64>, use_global_device_ids}> ({\n    ^bb0(%l: tensor<f32>, %m: "
         "tensor<f32>):\n      %s = stablehlo.add %l, %m : tensor<f32>\n      stablehlo.return %s "
         ": "
         "tensor<f32>\n    }) : (" +
         type + ") -> " + type + "\n";
}

const Array kInput(Floats{1, 2, 4, 8}, {4});

TEST_F(Shardy, UnreducedResultsAreSumsAndTheLike) {
  const std::string pass = "    sdy.return %b : tensor<2xf32>\n";
  const auto with = [&](const std::string& unreduced) {
    return run(manual("{\"x\"}]", "{}], unreduced=" + unreduced, "\"x\", \"y\"", "tensor<2xf32>",
                      pass, "tensor<2xf32>"),
               {kInput});
  };
  EXPECT_EQ(with("{\"x\"}"), (Floats{5, 10}));
  EXPECT_EQ(with("sum{\"x\", \"y\"}"), (Floats{10, 20}));
  EXPECT_EQ(with("max{\"x\"}"), (Floats{4, 8}));
  EXPECT_EQ(with("min{\"x\"}"), (Floats{1, 2}));
}

// The parts along "x" add up to the argument, however it is divided into them.
TEST_F(Shardy, UnreducedArgumentsAreParts) {
  EXPECT_EQ(run(manual("{\"y\"}], unreduced={\"x\"}", "{\"y\"}]", "\"x\", \"y\"", "tensor<2xf32>",
                       reduction("r", "[[0, 2], [1, 3]]", "tensor<2xf32>") +
                           "    sdy.return %r : tensor<2xf32>\n"),
                {kInput}),
            (Floats{1, 2, 4, 8}));
  EXPECT_EQ(run(manual("{\"y\"}], unreduced=max{\"x\"}", "{\"y\"}]", "\"x\", \"y\"",
                       "tensor<2xf32>", "    sdy.return %b : tensor<2xf32>\n"),
                {kInput}),
            (Floats{1, 2, 4, 8}));
}

// Devices 3, 1, 2, 0 in the mesh's order: along "y" the groups are {3, 1} and {2, 0}.
TEST_F(Shardy, GroupsNameDevicesAndNotPlaces) {
  const std::string mesh = R"(<["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>)";
  EXPECT_EQ(run(manual("{\"x\", \"y\"}]", "{\"x\"}]", "\"x\", \"y\"", "tensor<1xf32>",
                       reduction("r", "[[3, 1], [2, 0]]", "tensor<1xf32>") +
                           "    sdy.return %r : tensor<1xf32>\n",
                       "tensor<2xf32>", mesh),
                {kInput}),
            (Floats{3, 12}));
  EXPECT_EQ(run(manual("{\"x\", \"y\"}]", "{\"x\", \"y\"}]", "\"x\", \"y\"", "tensor<1xf32>",
                       "    %p = stablehlo.partition_id : tensor<ui32>\n"
                       "    %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>\n"
                       "    %r = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<f32>) -> "
                       "tensor<1xf32>\n    sdy.return %r : tensor<1xf32>\n",
                       "tensor<4xf32>", mesh),
                {kInput}),
            (Floats{3, 1, 2, 0}));
}

// Groups that are not a whole axis, {0, 3} and {1, 2}.
TEST_F(Shardy, GroupsAlongNoAxis) {
  EXPECT_EQ(run(manual("{\"x\", \"y\"}]", "{\"x\", \"y\"}]", "\"x\", \"y\"", "tensor<1xf32>",
                       reduction("r", "[[0, 3], [1, 2]]", "tensor<1xf32>") +
                           "    sdy.return %r : tensor<1xf32>\n"),
                {kInput}),
            (Floats{9, 6, 6, 9}));
}

TEST_F(Shardy, ComputationsWithoutAxesOrValues) {
  EXPECT_EQ(run(manual("{?}]", "{\"x\", ?}]", "", "tensor<4xf32>",
                       "    %r = stablehlo.negate %b : tensor<4xf32>\n"
                       "    sdy.return %r : tensor<4xf32>\n"),
                {kInput}),
            (Floats{-1, -2, -4, -8}));
  EXPECT_EQ(
      run("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  "
          "sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={\"x\"} () {\n"
          "    sdy.return\n  } : () -> ()\n  return %a : tensor<4xf32>\n}",
          {kInput}),
      (Floats{1, 2, 4, 8}));
}

// Within a dimension, axes that are not manual are minor to those that are.
TEST_F(Shardy, OtherAxesInTheShardingsOfAComputation) {
  EXPECT_EQ(run(manual("{\"x\", \"y\"}]", "{\"x\", \"y\"}]", "\"x\"", "tensor<2xf32>",
                       "    %r = stablehlo.add %b, %b : tensor<2xf32>\n"
                       "    sdy.return %r : tensor<2xf32>\n"),
                {kInput}),
            (Floats{2, 4, 8, 16}));
  EXPECT_EQ(problem(manual("{\"y\", \"x\"}]", "{\"x\"}]", "\"x\"", "tensor<2xf32>",
                           "    sdy.return %b : tensor<2xf32>\n")),
            "load_stablehlo_text: line 3, column 49: sdy.manual_computation: the axis 'x' stands "
            "behind one that is not manual");
}

std::string constrained(const std::string& sharding, const std::string& mesh = "<[\"x\"=4]>") {
  return "sdy.mesh @mesh = " + mesh +
         "\nfunc.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = sdy.reshard %a " +
         sharding + " : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}";
}

TEST_F(Shardy, ShardingsAreKept) {
  for (const std::string sharding :
       {"<@mesh, [{\"x\"}]>", "<mesh<[\"x\"=4]>, [{\"x\"}p2], replicated={}>"})
    EXPECT_EQ(ts::load_stablehlo_text(constrained(sharding))(kInput)[0].shards().size(), 4u)
        << sharding;
  // Shardings on one device, and over part of an axis that shards no dimension, change nothing.
  EXPECT_EQ(run(constrained("<@mesh, []>", "<[], device_ids=[3]>"), {kInput}),
            (Floats{1, 2, 4, 8}));
  EXPECT_EQ(run(constrained("<@mesh, [{}], unreduced={\"x\":(1)2}>"), {kInput}),
            (Floats{1, 2, 4, 8}));
}

TEST_F(Shardy, WhatIsWrongIsNamedByPlace) {
  EXPECT_EQ(problem(constrained("<@mesh, [{\"x\", \"x\"}]>")),
            "load_stablehlo_text: line 3, column 38: the axis 'x' cuts two dimensions");
  EXPECT_EQ(
      problem(constrained("<@mesh, [{\"x\"}], unreduced={\"x\"}>")),
      "load_stablehlo_text: line 3, column 51: the axis 'x' cuts a dimension, and is unreduced "
      "too");
  EXPECT_EQ(problem(constrained("<@mesh, [{}], replicated={\"x\"}, unreduced={\"x\"}>")),
            "load_stablehlo_text: line 3, column 66: the axis 'x' is named twice behind the "
            "dimensions");
  EXPECT_EQ(problem(constrained("<@mesh, [{\"y\"}]>")),
            "load_stablehlo_text: line 3, column 33: the mesh @mesh has no axis 'y'");
  EXPECT_EQ(problem(constrained("<@mesh, [{\"x\":(1)2}]>")),
            "load_stablehlo_text: line 3, column 33: a part of the axis 'x'");
  EXPECT_EQ(problem(constrained("<@mesh, [{}], partial={\"x\"}>")),
            "load_stablehlo_text: line 3, column 37: a sharding with 'partial' is not supported");
  std::string many = "<[";
  for (int i = 0; i < 33; ++i) many += (i ? ", \"a" : "\"a") + std::to_string(i) + "\"=1";
  EXPECT_EQ(problem(constrained("<@mesh, [{}]>", many + "]>")),
            "load_stablehlo_text: line 1, column 10: the mesh has 33 axes");
  EXPECT_EQ(problem(constrained("<@mesh, [{}]>", "<[\"x\"=0]>")),
            "load_stablehlo_text: line 1, column 10: the axis 'x' has size 0");
  EXPECT_EQ(problem(constrained("<@mesh, [{}]>", "<[], device_ids=[0, 1]>")),
            "load_stablehlo_text: line 1, column 10: the mesh's device_ids are no order of its 1 "
            "devices");
  EXPECT_EQ(problem("sdy.mesh @mesh = <[\"x\"=4]>\nfunc.func @main(%a: tensor<4xf32>) -> "
                    "tensor<4xf32> {\n  %0 = sdy.all_gather [{\"x\", \"x\"}] %a "
                    "out_sharding=<@mesh, [{}]> : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}"),
            "load_stablehlo_text: line 3, column 30: sdy.all_gather names the axis 'x' twice");
  const auto nested = [&](const std::string& axis, const std::string& spec) {
    return manual("{\"x\"}]", "{\"x\"}]", "\"x\"", "tensor<2xf32>",
                  "    %r = sdy.manual_computation(%b) in_shardings=[<@mesh, [{" + spec +
                      "}]>] out_shardings=[<@mesh, [{" + spec + "}]>] manual_axes={\"" + axis +
                      "\"} (%c: tensor<1xf32>) {\n      sdy.return %c : tensor<1xf32>\n    } : "
                      "(tensor<2xf32>) -> tensor<2xf32>\n    sdy.return %r : tensor<2xf32>\n");
  };
  EXPECT_EQ(run(nested("y", "\"y\""), {kInput}), (Floats{1, 2, 4, 8}));
  EXPECT_EQ(
      problem(nested("x", "\"y\"")),
      "load_stablehlo_text: line 4, column 115: sdy.manual_computation: the axis 'x' is manual "
      "in the computation around it already");
  // Groups that overlap, and a group along an axis that the partitioner divides.
  const std::string whole = "\"x\", \"y\"", all = "{\"x\", \"y\"}]";
  EXPECT_EQ(problem(manual(all, all, whole, "tensor<1xf32>",
                           reduction("r", "[[0, 1], [1, 2]]", "tensor<1xf32>") +
                               "    sdy.return %r : tensor<1xf32>\n")),
            "load_stablehlo_text: line 4, column 10: stablehlo.all_reduce: the axis_index_groups "
            "do not cover every index of axis ('x', 'y') exactly once");
  EXPECT_EQ(
      problem(manual("{\"x\"}]", "{\"x\"}]", "\"x\"", "tensor<2xf32>",
                     reduction("r", "[[0, 1], [2, 3]]", "tensor<2xf32>") +
                         "    sdy.return %r : tensor<2xf32>\n")),
      "load_stablehlo_text: line 4, column 10: stablehlo.all_reduce: it is along the axis 'y', "
      "which is not manual here");
}

// Random changes give a module or an error.
TEST_F(Shardy, BytesThatAreChanged) {
  const auto read = [](const std::string& name) {
    std::ifstream file(TESSERA_TEST_DIR "/stablehlo/exported/" + name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  const std::string collective = manual(
      "{\"x\"}], unreduced={\"y\"}", "{\"x\"}]", "\"x\", \"y\"", "tensor<2xf32>",
      reduction("r", "[[0, 1], [2, 3]]", "tensor<2xf32>") + "    sdy.return %r : tensor<2xf32>\n");
  std::mt19937 random(11);
  std::size_t errors = 0;
  constexpr std::size_t kTexts = 1500;
  for (const std::string& sample : {read("shardy.mlir"), read("shardy.mlirbc"), collective})
    for (std::size_t i = 0; i < kTexts; ++i) {
      std::string text = sample;
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = "\"{}[]<>@0123xy,?"[random() % 16]; break;
        case 1: text.erase(at, random() % 12); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 12));
      }
      try {
        ts::load_stablehlo_text(text);
      } catch (const ts::Error&) {
        ++errors;
      }
    }
  EXPECT_GT(errors, kTexts);
}

// The module nests as many computations as a mesh may have axes, each along its own axis, and as
// many loops whose carry varies in the outermost one only. Reading it does not take 2^32 steps.
TEST_F(Shardy, DeepNests) {
  constexpr int kDepth = 32;
  const auto number = [](const char* name, int i) { return name + std::to_string(i); };
  std::string axes, maps, loops;
  for (int i = 0; i < kDepth; ++i)
    axes += (i ? ", \"" : "\"") + number("a", i) + (i < 2 ? "\"=2" : "\"=1");
  for (int i = kDepth; i-- > 0;) {
    const bool last = i + 1 == kDepth;
    maps = number("%r", i) + " = sdy.manual_computation(" + number("%v", i) +
           ") in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={\"" +
           number("a", i) + "\"} (" + number("%v", i + 1) + ": tensor<4xf32>) {\n" + maps +
           "sdy.return " + (last ? number("%v", kDepth) : number("%r", i + 1)) +
           " : tensor<4xf32>\n} : (tensor<4xf32>) -> tensor<4xf32>\n";
    const std::string add = i ? "" : "%n = stablehlo.add %w1, %q : tensor<f32>\n";
    loops = number("%w", i) + " = stablehlo.while(" + number("%c", i + 1) + " = " +
            number("%c", i) +
            ") : tensor<f32> cond {\nstablehlo.return %no : tensor<i1>\n} do {\n" + loops + add +
            "stablehlo.return " +
            (last     ? number("%c", kDepth)
             : i == 0 ? std::string("%n")
                      : number("%w", i + 1)) +
            " : tensor<f32>\n}\n";
  }
  EXPECT_EQ(run("sdy.mesh @mesh = <[" + axes +
                    "]>\nfunc.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> {\n" + maps +
                    "return %r0 : tensor<4xf32>\n}",
                {kInput}),
            (Floats{1, 2, 4, 8}));
  EXPECT_EQ(run(manual("{\"x\", \"y\"}]", "{\"x\", \"y\"}]", "\"x\", \"y\"", "tensor<1xf32>",
                       "%c0 = stablehlo.constant dense<1.0> : tensor<f32>\n"
                       "%no = stablehlo.constant dense<false> : tensor<i1>\n"
                       "%p = stablehlo.partition_id : tensor<ui32>\n"
                       "%q = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>\n" +
                           loops +
                           "%r = stablehlo.broadcast_in_dim %w0, dims = [] : (tensor<f32>) -> "
                           "tensor<1xf32>\nsdy.return %r : tensor<1xf32>\n"),
                {kInput}),
            (Floats{1, 1, 1, 1}));
}

TEST(Module, EmptyShardingsSayNothing) {
  EXPECT_EQ(run("func.func @main(%a: tensor<2xf32> {mhlo.sharding = \"\"}) -> (tensor<2xf32> "
                "{mhlo.sharding = \"\"}) {\n  return %a : tensor<2xf32>\n}",
                {Array(Floats{1, 2}, {2})}),
            (Floats{1, 2}));
}

TEST(Module, IntegersAreBits) {
  const auto f = ts::load_stablehlo_text(
      "func.func @main() -> (tensor<2xui64>, tensor<i64>, tensor<2xi8>, tensor<2xi32>) {\n"
      "  %0 = stablehlo.constant {k = 18446744073709551615 : ui64, l = array<i64: "
      "18446744073709551615>} dense<18446744073709551615> : tensor<2xui64>\n"
      "  %1 = stablehlo.constant dense<18446744073709551615> : tensor<i64>\n"
      "  %2 = stablehlo.constant dense<[255, 0x80]> : tensor<2xi8>\n"
      "  %3 = stablehlo.constant dense<[4294967295, -2147483648]> : tensor<2xi32>\n"
      "  return %0, %1, %2, %3 : tensor<2xui64>, tensor<i64>, tensor<2xi8>, tensor<2xi32>\n}");
  const std::vector<Array> got = f(std::vector<Array>{});
  constexpr std::uint64_t kMost = 18446744073709551615u;
  EXPECT_EQ(got[0].to_vector<std::uint64_t>(), (std::vector<std::uint64_t>{kMost, kMost}));
  EXPECT_EQ(got[1].item<std::int64_t>(), -1);
  EXPECT_EQ(got[2].to_vector<std::int8_t>(), (std::vector<std::int8_t>{-1, -128}));
  EXPECT_EQ(got[3].to_vector<std::int32_t>(), (std::vector<std::int32_t>{-1, INT32_MIN}));
  EXPECT_EQ(problem("func.func @main() -> tensor<i8> {\n  %0 = stablehlo.constant dense<256> : "
                    "tensor<i8>\n  return %0 : tensor<i8>\n}"),
            "load_stablehlo_text: line 2, column 33: '256' is no i8");
}

}  // namespace
