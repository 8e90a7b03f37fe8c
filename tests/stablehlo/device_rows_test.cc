// Programs that take the terms of unreduced arguments as rows.
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

std::vector<float> result(const Program& program, const Shape& shape, std::vector<float> input) {
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
    EXPECT_EQ(result(*rows.program, {2, 2}, {1, 2, 4, 1}), want) << kind;
  }
}

// Without the option, and for another number of devices, a program takes the array itself.
TEST(DeviceRows, OnlyIfAskedFor) {
  const ModuleSyntax module = module_of(text(""));
  for (const ImportOptions& options : {ImportOptions{.devices = 4}, ImportOptions{.has_rows = true},
                                       ImportOptions{.devices = 8, .has_rows = true}}) {
    const Imported whole = import_function(module, "main", options);
    EXPECT_EQ(whole.inputs[0].type, Type(DType::float32, {2}));
    EXPECT_EQ(result(*whole.program, {2}, {5, 3}), (std::vector<float>{-5, -3}));
  }
}

}  // namespace
