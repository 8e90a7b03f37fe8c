// Arrays that a module asks to be sharded alike.
#include "stablehlo/on_eight.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <string>

namespace ts = tessera;

namespace {

using ShardingGroups = OnEight;

// `body` defines %r from %a, which is sharded along "x", and %b, which is not.
std::string module(const std::string& body) {
  return "module attributes {mhlo.num_partitions = 8 : i32} {\n"
         "  sdy.mesh @mesh = <[\"x\"=8]>\n"
         "  func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}, "
         "%b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<8xf32> {\n" +
         body + "    return %r : tensor<8xf32>\n  }\n}\n";
}

std::string spec_of(const std::string& body, float factor) {
  const ts::Array x = ts::arange(8).astype(ts::f32);
  const ts::Array r = ts::load_stablehlo_text(module(body))(x, x + 1)[0];
  EXPECT_TRUE(ts::array_equal(r, (x + 1) * factor).item<bool>()) << r;
  return ts::to_string(r.sharding().spec());
}

const std::string kGroup =
    "    sdy.sharding_group %a group_id=3 : tensor<8xf32>\n"
    "    sdy.sharding_group %c group_id=3 : tensor<8xf32>\n";

TEST_F(ShardingGroups, LaterReadersSeeTheSharding) {
  const std::string negate = "    %c = stablehlo.negate %b : tensor<8xf32>\n";
  const std::string result = "    %r = stablehlo.negate %c : tensor<8xf32>\n";
  EXPECT_EQ(spec_of(negate + result, 1), "P()");
  EXPECT_EQ(spec_of(negate + kGroup + result, 1), "P('x')");
}

// The first member is read by nothing else, and the group has a third one.
TEST_F(ShardingGroups, OfThree) {
  EXPECT_EQ(spec_of("    sdy.sharding_group %b group_id=1 : tensor<8xf32>\n"
                    "    %c = stablehlo.negate %b : tensor<8xf32>\n"
                    "    sdy.sharding_group %a group_id=1 : tensor<8xf32>\n"
                    "    sdy.sharding_group %c group_id=1 : tensor<8xf32>\n"
                    "    %r = stablehlo.negate %c : tensor<8xf32>\n",
                    1),
            "P('x')");
}

TEST_F(ShardingGroups, OfOneAndOfTheSameArray) {
  EXPECT_EQ(spec_of("    sdy.sharding_group %b group_id=1 : tensor<8xf32>\n"
                    "    sdy.sharding_group %b group_id=1 : tensor<8xf32>\n"
                    "    sdy.sharding_group %a group_id=2 : tensor<8xf32>\n"
                    "    %r = stablehlo.negate %b : tensor<8xf32>\n",
                    -1),
            "P()");
}

}  // namespace
