// Groups of devices: of unequal size, by axes of a mesh, and with a root that data names; and
// collectives that are started in one place and waited for in another.
#include "../message.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

using Numbers = std::vector<std::int64_t>;

// A module for four replicas, which have 1 2 | 3 4 | 5 6 | 7 8.
std::string module_of(const std::string& body, const std::string& result = "2xi64") {
  return "module @m attributes {mhlo.num_replicas = 4 : i32} {\n  func.func public @main(%x: "
         "tensor<2xi64>) -> tensor<" +
         result + "> {\n" + body + "    return %0 : tensor<" + result + ">\n  }\n}";
}
Numbers run(const std::string& body, const std::string& result = "2xi64") {
  const Array x = (ts::arange(8) + 1).astype(ts::i64).reshape({4, 2});
  return ts::load_stablehlo_text(module_of(body, result))(x)[0].to_vector<std::int64_t>();
}
std::string by(const std::string& region) {
  return "({\n    ^bb0(%a: tensor<i64>, %b: tensor<i64>):\n      %s = stablehlo." + region +
         " %a, %b : tensor<i64>\n      stablehlo.return %s : tensor<i64>\n    })";
}
std::string reduce(const std::string& op, const std::string& groups, const std::string& region,
                   const std::string& result = "2xi64") {
  return "    %0 = \"stablehlo." + op + "\"(%x) <{replica_groups = " + groups + "}> " + by(region) +
         " : (tensor<2xi64>) -> tensor<" + result + ">\n";
}
std::string error_of(const std::string& body) {
  return test::message([&] { ts::load_stablehlo_text(module_of(body)); });
}

const std::string kUnequal = "dense<[[0, 1, 2], [3, -1, -1]]> : tensor<2x3xi64>";
const std::string kTurned = "dense<[[2, 0], [3, -1], [1, -1]]> : tensor<3x2xi64>";

// Groups by axes of a 2 x 2 mesh, and of a mesh of 4.
std::string axes_of(const std::string& axes,
                    const std::string& mesh =
                        "[#stablehlo.mesh_axis<name = \"x\", size = 2>, #stablehlo.mesh_axis<name "
                        "= \"y\", size = 2>]",
                    const std::string& more = "") {
  return "#stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = " + mesh + more +
         ">, axes = [" + axes + "]>";
}
std::string axis(const std::string& name, const std::string& part = "") {
  return "#stablehlo.axis_ref<name = \"" + name + "\"" +
         (part.empty() ? "" : ", sub_axis_info = " + part) + ">";
}
const std::string kFour = "[#stablehlo.mesh_axis<name = \"z\", size = 4>]";

}  // namespace

TEST(Groups, OfUnequalSizeByAnyRegion) {
  EXPECT_EQ(run(reduce("all_reduce", kUnequal, "add")), (Numbers{9, 12, 9, 12, 9, 12, 7, 8}));
  EXPECT_EQ(run(reduce("all_reduce", kUnequal, "multiply")),
            (Numbers{15, 48, 15, 48, 15, 48, 7, 8}));
  EXPECT_EQ(run(reduce("all_reduce", kUnequal, "minimum")), (Numbers{1, 2, 1, 2, 1, 2, 7, 8}));
  EXPECT_EQ(run(reduce("all_reduce", kTurned, "multiply")), (Numbers{5, 12, 3, 4, 5, 12, 7, 8}));
  // Elements are combined in the order of the group: 5 - 1.
  EXPECT_EQ(run(reduce("all_reduce", kTurned, "subtract")), (Numbers{4, 4, 3, 4, 4, 4, 7, 8}));
  EXPECT_EQ(run(reduce("all_reduce", kTurned, "xor")), (Numbers{4, 4, 3, 4, 4, 4, 7, 8}));
}

TEST(Groups, ByAxesOfAMesh) {
  // Devices 0 1 / 2 3.
  EXPECT_EQ(run(reduce("all_reduce", axes_of(axis("x")), "add")),
            (Numbers{6, 8, 10, 12, 6, 8, 10, 12}));
  EXPECT_EQ(run(reduce("all_reduce", axes_of(axis("y")), "multiply")),
            (Numbers{3, 8, 3, 8, 35, 48, 35, 48}));
  EXPECT_EQ(run(reduce("all_reduce", axes_of(axis("x") + ", " + axis("y")), "add")),
            (Numbers{16, 20, 16, 20, 16, 20, 16, 20}));
  // The order of the axes is that of the members: 0 2 1 3, ((1 - 5) - 3) - 7.
  EXPECT_EQ(run(reduce("all_reduce", axes_of(axis("y") + ", " + axis("x")), "subtract")),
            (Numbers{-14, -16, -14, -16, -14, -16, -14, -16}));
  // Devices 3 1 / 2 0.
  const std::string turned = axes_of(axis("y"),
                                     "[#stablehlo.mesh_axis<name = \"x\", size = 2>, "
                                     "#stablehlo.mesh_axis<name = \"y\", size = 2>]",
                                     ", device_ids = dense<[3, 1, 2, 0]> : tensor<4xi64>");
  EXPECT_EQ(run(reduce("all_reduce", turned, "subtract")), (Numbers{4, 4, 4, 4, 4, 4, 4, 4}));
  // Parts of an axis of four: the first of its two factors, and the factor after it.
  EXPECT_EQ(run(reduce("all_reduce", axes_of(axis("z", "(1)2"), kFour), "add")),
            (Numbers{6, 8, 10, 12, 6, 8, 10, 12}));
  EXPECT_EQ(run(reduce("all_reduce", axes_of(axis("z", "(2)2"), kFour), "add")),
            (Numbers{4, 6, 4, 6, 12, 14, 12, 14}));
  EXPECT_EQ(
      run("    %0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = " +
              axes_of(axis("x")) + "}> : (tensor<2xi64>) -> tensor<4xi64>\n",
          "4xi64"),
      (Numbers{1, 2, 5, 6, 3, 4, 7, 8, 1, 2, 5, 6, 3, 4, 7, 8}));
}

// Devices in no group get zeros, and so do all except the root.
TEST(Groups, OneDeviceGetsTheTotal) {
  EXPECT_EQ(
      run(reduce("collective_reduce", "dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>", "multiply")),
      (Numbers{0, 0, 0, 0, 5, 12, 21, 32}));
  for (const auto& [region, first, second] :
       {std::tuple{"add", 8, 10}, {"multiply", 15, 24}, {"minimum", 3, 4}})
    EXPECT_EQ(run(reduce("collective_reduce", "dense<[[1, 2]]> : tensor<1x2xi64>", region)),
              (Numbers{0, 0, first, second, 0, 0, 0, 0}));
  const auto named = [](const std::string& op, const std::string& root, const std::string& region) {
    return "    %r = stablehlo.constant dense<[" + root +
           "]> : tensor<1xi64>\n    %0 = \"stablehlo." + op +
           "\"(%x, %r) <{has_dynamic_root = true, replica_groups = dense<[[0, 1], [2, 3]]> : "
           "tensor<2x2xi64>}> " +
           region + " : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>\n";
  };
  EXPECT_EQ(run(named("collective_reduce", "1", by("add"))), (Numbers{0, 0, 4, 6, 0, 0, 12, 14}));
  EXPECT_EQ(run(named("collective_broadcast", "1", "")), (Numbers{3, 4, 3, 4, 7, 8, 7, 8}));
  // Numbers outside the range of members mean the first or the last member.
  EXPECT_EQ(run(named("collective_broadcast", "-1", "")), (Numbers{1, 2, 1, 2, 5, 6, 5, 6}));
  EXPECT_EQ(run(named("collective_broadcast", "9", "")), (Numbers{3, 4, 3, 4, 7, 8, 7, 8}));
  EXPECT_EQ(run(named("collective_reduce", "9", by("add"))), (Numbers{0, 0, 4, 6, 0, 0, 12, 14}));
}

TEST(Groups, WhatBeginsIsThereWhenItIsWaitedFor) {
  const std::string async =
      "    %f = \"stablehlo.async_start\"(%x) ({\n    ^bb0(%y: tensor<2xi64>):\n      %t = "
      "\"stablehlo.all_reduce\"(%y) <{replica_groups = dense<[[0, 1], [2, 3]]> : "
      "tensor<2x2xi64>}> " +
      by("add") +
      " : (tensor<2xi64>) -> tensor<2xi64>\n      stablehlo.return %t : tensor<2xi64>\n    }) : "
      "(tensor<2xi64>) -> !stablehlo.future<tensor<2xi64>>\n    %0 = \"stablehlo.async_done\"(%f) "
      ": "
      "(!stablehlo.future<tensor<2xi64>>) -> tensor<2xi64>\n";
  EXPECT_EQ(run(async), (Numbers{4, 6, 4, 6, 12, 14, 12, 14}));
}

TEST(Groups, WhatIsWrongWithAxesIsSaid) {
  const auto mesh = [](const std::string& size) {
    return "[#stablehlo.mesh_axis<name = \"z\", size = " + size + ">]";
  };
  const auto problem = [](const std::string& groups) {
    const std::string text = error_of(reduce("all_reduce", groups, "add")),
                      before = "load_stablehlo_text: line 3, column 10: stablehlo.all_reduce: ";
    EXPECT_EQ(text.substr(0, before.size()), before);
    return text.substr(before.size(), text.find('\n') - before.size());
  };
  EXPECT_EQ(problem(axes_of(axis("w"))), "its mesh has no axis 'w'");
  EXPECT_EQ(problem(axes_of(axis("z", "(3)2"), kFour)),
            "its mesh has the axis 'z' of size 4, and no part (3)2 of it");
  EXPECT_EQ(problem(axes_of(axis("x") + ", " + axis("x"))),
            "its replica_groups name an axis twice");
  EXPECT_EQ(problem(axes_of(axis("z") + ", " + axis("z"), mesh("65536"))),
            "its replica_groups name an axis twice");
  EXPECT_EQ(problem(axes_of(axis("z"), mesh("0"))), "its mesh has an axis of size 0");
  EXPECT_EQ(problem(axes_of(axis("z"), mesh("9223372036854775807"))),
            "its mesh has an axis of size 9223372036854775807");
  EXPECT_EQ(problem(axes_of(axis("z"), kFour, ", device_ids = dense<[0, 1]> : tensor<2xi64>")),
            "its mesh names 2 devices, and its axes have 4 places");
  EXPECT_EQ(problem("#stablehlo.replica_group_mesh_axes<mesh = @none, axes = [" + axis("x") + "]>"),
            "there is no mesh @none in this module");
  EXPECT_EQ(problem(axes_of(axis("z"), mesh("-4"))), "its mesh has an axis of size -4");
  for (const char* part : {"(0)2", "(-1)2", "(2)0", "(9223372036854775807)9223372036854775807"})
    EXPECT_EQ(problem(axes_of(axis("z", part), kFour)),
              std::string("its mesh has the axis 'z' of size 4, and no part ") + part + " of it");
  for (const auto& [devices, wrong] :
       {std::pair{"[0, 1, 2, 4]", "4"}, {"[0, -1, 2, 3]", "-1"}, {"[0, 1, 2, 2]", "2"}})
    EXPECT_EQ(
        problem(axes_of(axis("z"), kFour,
                        std::string(", device_ids = dense<") + devices + "> : tensor<4xi64>")),
        std::string("its mesh has the device ") + wrong + " twice, or beyond its places");
  // Parts of an axis that have one device divide nothing, however many there are.
  std::string many = axis("z");
  for (int i = 0; i < 5000; ++i) many += ", " + axis("z", "(1)1");
  EXPECT_EQ(run(reduce("all_reduce", axes_of(many, kFour), "add")),
            (Numbers{16, 20, 16, 20, 16, 20, 16, 20}));
}

TEST(Groups, WholeErrors) {
  EXPECT_EQ(error_of(reduce("all_reduce", axes_of(axis("z", "(3)2"), kFour), "add")),
            "load_stablehlo_text: line 3, column 10: stablehlo.all_reduce: its mesh has the axis "
            "'z' of size 4, and no part (3)2 of it\n          %0 = \"stablehlo.all_reduce\"(%x) "
            "<{replica_gro...\n               ^\n  rule: behind parts that multiply to p stands "
            "(p)n, a part of n, and p times n divides the size of the axis");
  EXPECT_EQ(error_of("    %r = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n    %0 = "
                     "\"stablehlo.collective_broadcast\"(%x, %r) <{has_dynamic_root = true, "
                     "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2xi64>, "
                     "tensor<2xi64>) -> tensor<2xi64>\n"),
            "load_stablehlo_text: line 4, column 10: stablehlo.collective_broadcast: its last "
            "operand does not name a root for each of the others: it is i64[2] beside 1\n          "
            "%0 = \"stablehlo.collective_broadcast\"(%x, %r)...\n               ^\n  rule: with "
            "has_dynamic_root the last operand is a list of integers, one for each other operand");
  EXPECT_EQ(
      error_of("    %f = \"stablehlo.async_start\"(%x) ({\n    ^bb0(%y: tensor<3xi64>):\n      "
               "stablehlo.return %y : tensor<3xi64>\n    }) : (tensor<2xi64>) -> "
               "!stablehlo.future<tensor<3xi64>>\n    %0 = \"stablehlo.async_done\"(%f) : "
               "(!stablehlo.future<tensor<3xi64>>) -> tensor<2xi64>\n"),
      "load_stablehlo_text: line 3, column 10: stablehlo.async_start: its region takes (i64[3]), "
      "and it has (i64[2])\n          %f = \"stablehlo.async_start\"(%x) ({\n               ^");
  // The table of members and groups would have 65,536 by 65,536 elements.
  EXPECT_EQ(
      test::message([] {
        ts::load_stablehlo_text(
            "module @m attributes {mhlo.num_replicas = 65536 : i32} {\n  func.func public "
            "@main(%x: tensor<2xi64>) -> tensor<2xi64> {\n" +
            reduce("collective_reduce",
                   axes_of(axis("z"), "[#stablehlo.mesh_axis<name = \"z\", size = 65536>]"),
                   "add") +
            "    return %0 : tensor<2xi64>\n  }\n}");
      }),
      "load_stablehlo_text: line 3, column 10: stablehlo.collective_reduce: its groups have up to "
      "65536 of 65536 devices\n          %0 = \"stablehlo.collective_reduce\"(%x) <{repl...\n      "
      "         ^\n  rule: a table of the members has at most 4194304 entries");
}
