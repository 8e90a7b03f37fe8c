// What a module declares of its arguments and results.
#include "stablehlo/import/import.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

using namespace tessera;

namespace {

using stablehlo::NamedType;
using stablehlo::Signature;
using Numbers = std::vector<std::int64_t>;

Signature signature_of(const std::string& text) {
  auto source = std::make_shared<stablehlo::Source>();
  source->text = text;
  return stablehlo::signature_of(stablehlo::parse(source, {0, text.size()}).at(0), "main");
}

std::string module_of(const std::string& attributes, const std::string& meshes,
                      const std::string& arguments, const std::string& results,
                      const std::string& body) {
  return "module @m attributes {" + attributes + "} {\n" + meshes + "  func.func public @main(" +
         arguments + ") -> (" + results + ") {\n" + body + "  }\n}";
}

TEST(Signature, ElementTypesTokensAndMemory) {
  const Signature s = signature_of(module_of(
      "mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32", "",
      "%t: !stablehlo.token, %a: tensor<2xf8E4M3FN> {mhlo.memory_kind = \"pinned_host\"}, "
      "%b: tensor<i4> {tf.aliasing_output = 2 : i32}, "
      "%c: tensor<complex<f32>> {jax.buffer_donor = true}",
      "tensor<2xf8E4M3FN>, !stablehlo.token, tensor<i4>, tensor<complex<f32>>",
      "    return %a, %t, %b, %c : tensor<2xf8E4M3FN>, !stablehlo.token, tensor<i4>, "
      "tensor<complex<f32>>\n"));
  EXPECT_EQ(s.arguments, (Numbers{-1, 0, 1, 2}));
  EXPECT_EQ(s.results, (Numbers{0, -1, 1, 2}));
  ASSERT_EQ(s.inputs.size(), 3u);
  ASSERT_EQ(s.outputs.size(), 3u);
  const std::vector<std::string> elements{"f8E4M3FN", "i4", "complex<f32>"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(s.inputs[i].element, elements[i]);
    EXPECT_EQ(s.outputs[i].element, elements[i]);
    EXPECT_FALSE(s.inputs[i].sharding);
  }
  EXPECT_EQ(s.inputs[0].type, Type(DType::float32, {2}));
  EXPECT_EQ(s.inputs[0].memory_kind, "pinned_host");
  EXPECT_EQ(s.inputs[1].memory_kind, "");
  EXPECT_FALSE(s.inputs[0].donated);
  EXPECT_TRUE(s.inputs[1].donated);
  EXPECT_EQ(s.inputs[1].result, 2);
  EXPECT_TRUE(s.inputs[2].donated);
  EXPECT_FALSE(s.inputs[2].result);
  EXPECT_EQ(s.replicas, 1);
  EXPECT_EQ(s.partitions, 1);
  EXPECT_FALSE(s.open);
  EXPECT_FALSE(s.per_device);
}

// Shardings are reported although nothing asks to keep them.
TEST(Signature, ShardingsOfShardy) {
  const Signature s = signature_of(module_of(
      "mhlo.num_partitions = 4 : i32",
      "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2], device_ids=[3, 1, 2, 0]>\n"
      "  sdy.mesh @one = <[], device_ids=[2]>\n",
      "%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\", \"x\"}, {?}]>}, "
      "%b: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@one, [{}, {}]>}, "
      "%c: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\":(1)2}, {}]>}",
      "tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}], unreduced={\"y\"}>}",
      "    return %a : tensor<4x4xf32>\n"));
  EXPECT_EQ(s.partitions, 4);
  ASSERT_EQ(s.inputs.size(), 3u);
  ASSERT_TRUE(s.inputs[0].sharding);
  EXPECT_EQ(s.inputs[0].sharding->mesh->axes, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(s.inputs[0].sharding->mesh->sizes, (Numbers{2, 2}));
  EXPECT_EQ(s.inputs[0].sharding->mesh->devices, (std::vector<int>{3, 1, 2, 0}));
  EXPECT_EQ(to_string(s.inputs[0].sharding->spec), "P(('y', 'x'))");
  EXPECT_EQ(s.inputs[0].sharding->open, (Numbers{1}));
  ASSERT_TRUE(s.inputs[1].sharding);
  EXPECT_TRUE(s.inputs[1].sharding->mesh->axes.empty());
  EXPECT_EQ(s.inputs[1].sharding->mesh->devices, (std::vector<int>{2}));
  EXPECT_FALSE(s.inputs[2].sharding);  // along a part of an axis
  ASSERT_TRUE(s.outputs[0].sharding);
  EXPECT_EQ(to_string(s.outputs[0].sharding->spec), "P(none, 'x')");
  EXPECT_EQ(s.outputs[0].sharding->unreduced, (Strings{"y"}));
  EXPECT_EQ(s.outputs[0].sharding->combiner, Combiner::add);
  ASSERT_EQ(s.meshes.size(), 1u);  // the other one has a single device
  EXPECT_EQ(s.meshes[0], s.inputs[0].sharding->mesh);
}

// An array of which devices have terms is an array of the terms.
TEST(Signature, RowsOfTerms) {
  const Signature s = signature_of(module_of(
      "mhlo.num_partitions = 4 : i32", "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2, \"z\"=1]>\n",
      "%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {\"x\"}], "
      "unreduced=max{\"y\"}>}, %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], "
      "unreduced={\"z\"}>}",
      "tensor<4x6xf32>", "    return %a : tensor<4x6xf32>\n"));
  ASSERT_TRUE(s.inputs[0].sharding && s.inputs[1].sharding);
  const stablehlo::DeclaredSharding& a = *s.inputs[0].sharding;
  EXPECT_TRUE(a.has_terms());
  EXPECT_EQ(a.combiner, Combiner::max);
  EXPECT_EQ(stablehlo::rows_of(s.inputs[0].type, a), Type(DType::float32, {2, 4, 6}));
  EXPECT_EQ(to_string(stablehlo::rows_of(a).spec), "P('y', none, 'x')");
  EXPECT_EQ(stablehlo::rows_of(a).open, (Numbers{1}));
  EXPECT_TRUE(stablehlo::rows_of(a).unreduced.empty());
  EXPECT_FALSE(s.inputs[1].sharding->has_terms());  // a single device has the whole array
}

TEST(Signature, ShardingsByTiles) {
  const Signature s = signature_of(module_of(
      "mhlo.num_partitions = 4 : i32", "",
      "%a: tensor<4x4xf32> {mhlo.sharding = \"{devices=[1,2,2]<=[4] last_tile_dim_replicate}\"}, "
      "%b: tensor<4x4xf32> {mhlo.sharding = \"{replicated}\"}",
      "tensor<4x4xf32>", "    return %a : tensor<4x4xf32>\n"));
  ASSERT_TRUE(s.inputs[0].sharding && s.inputs[1].sharding);
  EXPECT_FALSE(s.outputs[0].sharding);
  const stablehlo::DeclaredSharding& a = *s.inputs[0].sharding;
  EXPECT_EQ(a.mesh->sizes, (Numbers{2, 2}));
  EXPECT_EQ(to_string(a.spec), "P(none, '" + a.mesh->axes[0] + "')");
  EXPECT_EQ(s.inputs[1].sharding->mesh->size(), 4);
  EXPECT_TRUE(s.inputs[1].sharding->spec.replicated());
}

// Such a function takes and gives one row per device.
TEST(Signature, FunctionOfOneDeviceOfSeveral) {
  const Signature s = signature_of(module_of(
      "mhlo.num_replicas = 2 : i32", "", "%a: tensor<3xf32>", "tensor<3xf32>",
      "    %0 = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 1], "
      "[1, 0]]> : tensor<2x2xi64>}> : (tensor<3xf32>) -> tensor<3xf32>\n"
      "    return %0 : tensor<3xf32>\n"));
  EXPECT_EQ(s.replicas, 2);
  EXPECT_TRUE(s.per_device);
  EXPECT_EQ(s.inputs[0].type, Type(DType::float32, {2, 3}));
}

}  // namespace
