// Programs that take the terms of unreduced arguments as rows, and return the values that devices
// have.
#include "ir/host_array.h"
#include "stablehlo/import/import.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tessera;
using namespace tessera::stablehlo;

namespace {

ModuleSyntax module_of(const std::string& text) {
  auto source = std::make_shared<Source>();
  source->text = text;
  return std::move(parse(source, {0, text.size()}).at(0));
}

std::vector<float> result_of(const Program& program, const Shape& shape, std::vector<float> input) {
  HostArray in(DType::float32, shape);
  std::copy(input.begin(), input.end(), in.data<float>());
  const HostArray out = evaluate(program, std::vector{in}).at(0);
  return {out.data<float>(), out.data<float>() + out.count()};
}

std::string text(const std::string& kind) {
  return "module attributes {mhlo.num_partitions = 4 : i32} {\n"
         "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
         "  func.func @main(%a: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], "
         "unreduced=" +
         kind +
         "{\"x\"}>}) -> tensor<2xf32> {\n"
         "    %b = stablehlo.negate %a : tensor<2xf32>\n    return %b : tensor<2xf32>\n  }\n}\n";
}

TEST(DeviceRows, AreReducedWhereTheProgramBegins) {
  for (const auto& [kind, want] :
       {std::pair{"", std::vector<float>{-5, -3}}, std::pair{"sum", std::vector<float>{-5, -3}},
        std::pair{"max", std::vector<float>{-4, -2}},
        std::pair{"min", std::vector<float>{-1, -1}}}) {
    const ModuleSyntax module = module_of(text(kind));
    const Imported rows = import_function(module, "main", {.devices = 4, .has_rows = true});
    EXPECT_EQ(rows.inputs[0].type, Type(DType::float32, {2, 2})) << kind;
    EXPECT_EQ(result_of(*rows.program, {2, 2}, {1, 2, 4, 1}), want) << kind;
  }
}

// Without the option, and for another number of devices, a program takes the array itself.
TEST(DeviceRows, OnlyIfAskedFor) {
  const ModuleSyntax module = module_of(text(""));
  for (const ImportOptions& options : {ImportOptions{.devices = 4}, ImportOptions{.has_rows = true},
                                       ImportOptions{.devices = 8, .has_rows = true}}) {
    const Imported whole = import_function(module, "main", options);
    EXPECT_EQ(whole.inputs[0].type, Type(DType::float32, {2}));
    EXPECT_EQ(result_of(*whole.program, {2}, {5, 3}), (std::vector<float>{-5, -3}));
  }
}

// Twice each device's element, which the module declares to be equal on all devices.
std::string unchecked(const std::string& behind, const std::string& result) {
  return "module attributes {mhlo.num_partitions = 4 : i32} {\n"
         "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
         "  func.func @main(%a: tensor<4xf32>) -> (tensor<2xf32>" +
         result +
         ") {\n"
         "    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\", \"y\"}]>] "
         "out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\", \"y\"} (%b: tensor<1xf32>) {\n"
         "      %c = stablehlo.add %b, %b : tensor<1xf32>\n"
         "      sdy.return %c : tensor<1xf32>\n    } : (tensor<4xf32>) -> tensor<2xf32>\n" +
         behind + "  }\n}\n";
}
const std::string kReturned = "    return %0 : tensor<2xf32>\n";

TEST(DeviceRows, OfValuesThatDifferAreEachDevicesOwn) {
  for (const char* result : {"", " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}"}) {
    const Imported own = import_function(module_of(unchecked(kReturned, result)), "main",
                                         {.devices = 4, .has_rows = true});
    ASSERT_TRUE(own.outputs[0].own_values);
    EXPECT_EQ(own.outputs[0].own_values->unreduced, Strings{"y"});
    EXPECT_EQ(to_string(own.outputs[0].own_values->spec), "P('x')");
    EXPECT_EQ(own.outputs[0].type, Type(DType::float32, {2}));
    // Row by row along "y": the values of the devices along "x".
    EXPECT_EQ(result_of(*own.program, {4}, {1, 2, 4, 8}), (std::vector<float>{2, 8, 4, 16}));
  }
}

// The first device's, if something else reads the value, if the result is declared to lie otherwise,
// and for callers that have whole arrays.
TEST(DeviceRows, OfValuesThatDifferAreElseTheFirst) {
  const std::string negated =
      "    %1 = stablehlo.negate %0 : tensor<2xf32>\n    return %1 : tensor<2xf32>\n";
  const ImportOptions rows{.devices = 4, .has_rows = true};
  const auto run = [](const std::string& text, const ImportOptions& options) {
    const Imported all = import_function(module_of(text), "main", options);
    EXPECT_FALSE(all.outputs[0].own_values);
    return result_of(*all.program, {4}, {1, 2, 4, 8});
  };
  EXPECT_EQ(run(unchecked(negated, ""), rows), (std::vector<float>{-2, -8}));
  EXPECT_EQ(run(unchecked(kReturned, " {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}]>}"), rows),
            (std::vector<float>{2, 8}));
  EXPECT_EQ(run(unchecked(kReturned, ""), {.devices = 4}), (std::vector<float>{2, 8}));
}

}  // namespace
