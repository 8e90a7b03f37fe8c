// The parser's result for every form of the text.
#include "stablehlo/text/syntax.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::stablehlo {
namespace {

std::vector<ModuleSyntax> parse_all(const std::string& text) {
  const auto source = std::make_shared<Source>(Source{"", text});
  std::vector<ModuleSyntax> out;
  for (const Part& part : parts_of(*source))
    for (ModuleSyntax& m : parse(source, part)) out.push_back(std::move(m));
  return out;
}

// The operations of a function with this body. The module is kept alive, because they point into
// it.
const List<OperationSyntax>& operations(const std::string& body) {
  static ModuleSyntax kept;
  kept =
      parse_all("func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {\n" + body + "\nreturn\n}")[0];
  return kept.functions[0].body.operations;
}
const OperationSyntax& operation(const std::string& text) { return operations(text)[0]; }

using Integers = std::vector<std::int64_t>;

TEST(Parse, Elementwise) {
  const OperationSyntax& add = operation("%0 = stablehlo.add %a, %b : tensor<4xf32>");
  EXPECT_EQ(add.name, "stablehlo.add");
  ASSERT_EQ(add.operands.size(), 2u);
  EXPECT_EQ(add.operands[1].name, "b");
  ASSERT_EQ(add.result_types.size(), 1u);
  EXPECT_EQ(add.result_types[0]->dims, Integers{4});
  EXPECT_EQ(add.result_types[0]->element, "f32");
  const OperationSyntax& convert =
      operation("%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi8>");
  EXPECT_EQ(convert.operand_types[0]->element, "f32");
  EXPECT_EQ(convert.result_types[0]->element, "i8");
  const OperationSyntax& erf =
      operation("%0 = chlo.erf %a : tensor<4xf32> -> tensor<4xf32> loc(\"x\"(\"f.py\":1:2))");
  EXPECT_EQ(erf.name, "chlo.erf");
  EXPECT_EQ(erf.result_types[0]->text, "tensor<4xf32>");
}

TEST(Parse, TypesThatAreListedWithoutAnArrow) {
  const OperationSyntax& select =
      operation("%0 = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>");
  EXPECT_EQ(select.result_types[0]->element, "f32");
  const OperationSyntax& barrier =
      operation("%0:2 = stablehlo.optimization_barrier %a, %b : tensor<4xf32>, tensor<2xi8>");
  ASSERT_EQ(barrier.defs.size(), 1u);
  EXPECT_EQ(barrier.defs[0].count, 2u);
  EXPECT_EQ(barrier.result_types[1]->element, "i8");
  EXPECT_EQ(operation("%x, %y = stablehlo.foo %a : tensor<i8>, tensor<i16>").defs.size(), 2u);
}

TEST(Parse, KeysOfPrettyForms) {
  EXPECT_EQ(operation("%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>")
                .find("iota_dimension")
                ->integer_value,
            1);
  EXPECT_EQ(
      operation("%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>")
          .find("permutation")
          ->values,
      (Integers{1, 0}));
  EXPECT_EQ(operation("%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) "
                      "-> tensor<8xf32>")
                .find("dimension")
                ->integer_value,
            0);
  const OperationSyntax& pad = operation(
      "%0 = stablehlo.pad %a, %v, low = [-1], high = [2], interior = [3] : (tensor<4xf32>, "
      "tensor<f32>) -> tensor<14xf32>");
  EXPECT_EQ(pad.find("edge_padding_low")->values, Integers{-1});
  EXPECT_EQ(pad.find("edge_padding_high")->values, Integers{2});
  EXPECT_EQ(pad.find("interior_padding")->values, Integers{3});
  EXPECT_EQ(operation("%0 = stablehlo.reduce_precision %a, format = e8m10 : tensor<4xf32>")
                .find("format")
                ->text,
            "e8m10");
  EXPECT_EQ(operation("%0 = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>")
                .find("lower")
                ->integer_value,
            1);
  const OperationSyntax& fft = operation(
      "%0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xf32>) -> "
      "tensor<5xcomplex<f32>>");
  EXPECT_EQ(fft.find("fft_type")->text, "RFFT");
  EXPECT_EQ(fft.result_types[0]->element, "complex<f32>");
  const OperationSyntax& top =
      operation("%v, %i = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)");
  EXPECT_EQ(top.find("k")->integer_value, 2);
  EXPECT_EQ(top.result_types.size(), 2u);
}

TEST(Parse, FormsWithWords) {
  const OperationSyntax& compare = operation(
      "%0 = stablehlo.compare  LT, %a, %b,  TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> "
      "tensor<4xi1>");
  EXPECT_EQ(compare.find("comparison_direction")->text, "LT");
  EXPECT_EQ(compare.find("compare_type")->text, "TOTALORDER");
  const OperationSyntax& slice =
      operation("%0 = stablehlo.slice %a [0:4:2, 1:3] : (tensor<4x4xf32>) -> tensor<2x2xf32>");
  EXPECT_EQ(slice.find("start_indices")->values, (Integers{0, 1}));
  EXPECT_EQ(slice.find("limit_indices")->values, (Integers{4, 3}));
  EXPECT_EQ(slice.find("strides")->values, (Integers{2, 1}));
  EXPECT_EQ(
      operation(
          "%0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, tensor<i8>>) -> tensor<i8>")
          .find("index")
          ->integer_value,
      1);
  const OperationSyntax& custom = operation(
      "stablehlo.custom_call @\"a b\"(%a) {api_version = 4 : i32, backend_config = {k = 3 : i64}} "
      ": (tensor<4xf32>) -> ()");
  EXPECT_EQ(custom.find("call_target_name")->text, "a b");
  EXPECT_EQ(find(custom.find("backend_config")->entries, "k")->integer_value, 3);
  const OperationSyntax& composite = operation(
      "%0 = stablehlo.composite \"my.op\" %a {decomposition = @impl, version = 1 : i32} : "
      "(tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_EQ(composite.find("name")->text, "my.op");
  EXPECT_EQ(composite.find("decomposition")->text, "impl");
  EXPECT_EQ(operation("%0 = call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>").find("callee")->text,
            "g");
}

TEST(Parse, Contractions) {
  const OperationSyntax& dot = operation(
      "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2, 1] x "
      "[1, 2], precision = [DEFAULT, HIGHEST], "
      "algorithm = <lhs_precision_type = tf32, allow_imprecise_accumulation = false> : "
      "(tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>");
  EXPECT_EQ(dot.find("lhs_batching_dimensions")->values, Integers{0});
  EXPECT_EQ(dot.find("rhs_batching_dimensions")->values, Integers{1});
  EXPECT_EQ(dot.find("rhs_contracting_dimensions")->values, (Integers{1, 2}));
  EXPECT_EQ(dot.find("precision_config")->items[1].text, "HIGHEST");
  const OperationSyntax& conv = operation(
      "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
      "window = {stride = [2, 2], pad = [[3, 3], [3, 4]], "
      "reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, "
      "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} "
      ": (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>");
  ASSERT_EQ(conv.find("dimension_numbers")->items.size(), 3u);
  EXPECT_EQ(conv.find("dimension_numbers")->items[1].items[3].text, "o");
  EXPECT_EQ(conv.find("window_strides")->values, (Integers{2, 2}));
  EXPECT_EQ(conv.find("padding")->items[1].values, (Integers{3, 4}));
  EXPECT_EQ(conv.find("feature_group_count")->integer_value, 2);
  EXPECT_EQ(conv.find("precision_config")->items[1].text, "HIGH");
  EXPECT_TRUE(operation("%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], "
                        "window = {} : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>")
                  .find("dimension_numbers"));
}

TEST(Parse, Loops) {
  const OperationSyntax& loop = operation(
      "%0:2 = stablehlo.while(%i = %a, %x_1 = %b) : tensor<i32>, tensor<4xf32> attributes {k = 1 : "
      "i32}\n"
      "cond { %c = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>\n "
      "stablehlo.return %c : tensor<i1> }\n"
      "do { stablehlo.return %i, %x_1 : tensor<i32>, tensor<4xf32> }");
  ASSERT_EQ(loop.regions.size(), 2u);
  EXPECT_EQ(loop.regions[1].arguments[1].name, "x_1");
  EXPECT_EQ(loop.regions[0].arguments[1].type->dims, Integers{4});
  EXPECT_EQ(loop.regions[0].operations.size(), 2u);
  EXPECT_EQ(loop.result_types.size(), 2u);
}

TEST(Parse, Reductions) {
  const OperationSyntax& sum = operation(
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1, 0] : "
      "(tensor<2x3xf32>, tensor<f32>) -> tensor<f32>");
  EXPECT_EQ(sum.find("dimensions")->values, (Integers{1, 0}));
  ASSERT_EQ(sum.regions.size(), 1u);
  EXPECT_EQ(sum.regions[0].operations[0].name, "stablehlo.add");
  EXPECT_EQ(sum.regions[0].arguments[0].type->element, "f32");
  EXPECT_TRUE(sum.regions[0].arguments[0].type->dims.empty());
  const OperationSyntax& two = operation(
      "%0:2 = stablehlo.reduce(%a init: %z), (%b init: %w) across dimensions = [0] : "
      "(tensor<4xf32>, tensor<4xi8>, tensor<f32>, tensor<i8>) -> (tensor<f32>, tensor<i8>)\n"
      "reducer(%p: tensor<f32>, %q: tensor<f32>) (%s: tensor<i8>, %t: tensor<i8>) { "
      "stablehlo.return %p, %s : tensor<f32>, tensor<i8> }");
  ASSERT_EQ(two.operands.size(), 4u);
  EXPECT_EQ(two.operands[1].name, "b");
  EXPECT_EQ(two.operands[2].name, "z");
  ASSERT_EQ(two.regions[0].arguments.size(), 4u);  // first ones, then second ones
  EXPECT_EQ(two.regions[0].arguments[1].name, "s");
  EXPECT_EQ(two.regions[0].arguments[2].name, "q");
}

TEST(Parse, GenericFormOfOldAndNew) {
  const char* region =
      "({ ^bb0(%l: tensor<f32>, %r: tensor<f32>): stablehlo.return %l : tensor<f32> })";
  for (const std::string& text :
       {std::string("<{dimension = 0 : i64, is_stable}> ") + region + " {k = 1 : i32}",
        std::string(region) + " {dimension = 0 : i64, is_stable, k = 1 : i32}"}) {
    const OperationSyntax& sort =
        operation("%0 = \"stablehlo.sort\"(%a) " + text + " : (tensor<4xf32>) -> tensor<4xf32>");
    EXPECT_EQ(sort.find("dimension")->integer_value, 0);
    EXPECT_EQ(sort.find("is_stable")->kind, AttributeSyntax::unit);
    EXPECT_EQ(sort.find("k")->integer_value, 1);
    EXPECT_EQ(sort.regions[0].arguments[1].name, "r");
  }
  const OperationSyntax& branch = operation(
      "%0:2 = \"stablehlo.if\"(%p) ({ stablehlo.return %a#1 : tensor<f32> }, { stablehlo.return %b "
      ": tensor<f32> }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)");
  EXPECT_EQ(branch.regions.size(), 2u);
  EXPECT_EQ(branch.regions[0].operations[0].operands[0].index, 1u);
}

TEST(Parse, Attributes) {
  const OperationSyntax& op = operation(
      "%0 = \"x.y\"(%a) <{a = #stablehlo.scatter<update_window_dims = [0], index_vector_dim = 2>, "
      "b = array<i64: 1, -2>, c = array<i1: true, false>, d = array<i64>, "
      "e = dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, f = #stablehlo<comparison_direction GT>, g = "
      "\"q\\22\\n\", h = @s, i = [1, \"x\"], j = -3 : i64, k = 2.5e-01 : f32, "
      "l = 0x7F800000 : f32, m = tensor<2xf32>, n = #sdy.sharding<@m, [{\"x\", ?}, {}]>, \"o.p\" = "
      "unit, q = dense_resource<w> : tensor<2xf32>, "
      "r = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, s = (i32) -> i32, t = false}> : "
      "(tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_EQ(op.find("a")->text, "stablehlo.scatter");
  EXPECT_EQ(find(op.find("a")->entries, "index_vector_dim")->integer_value, 2);
  EXPECT_EQ(op.find("b")->values, (Integers{1, -2}));
  EXPECT_EQ(op.find("c")->values, (Integers{1, 0}));
  EXPECT_TRUE(op.find("d")->values.empty());
  EXPECT_EQ(op.find("e")->data, "[[1, 2], [3, 4]]");
  EXPECT_EQ(op.find("e")->value_type->dims, (Integers{2, 2}));
  EXPECT_EQ(op.find("f")->text, "GT");
  EXPECT_EQ(op.find("g")->text, "q\"\n");
  EXPECT_EQ(op.find("h")->kind, AttributeSyntax::symbol);
  EXPECT_EQ(op.find("i")->items.size(), 2u);
  EXPECT_EQ(op.find("j")->integer_value, -3);
  EXPECT_EQ(op.find("k")->text, "2.5e-01");
  EXPECT_EQ(op.find("l")->text, "0x7F800000");
  EXPECT_EQ(op.find("m")->value_type->text, "tensor<2xf32>");
  EXPECT_EQ(op.find("n")->kind, AttributeSyntax::sharding);
  EXPECT_EQ(op.find("o.p")->kind, AttributeSyntax::unit);
  EXPECT_EQ(op.find("q")->text, "w");
  EXPECT_EQ(op.find("r")->items.size(), 3u);
  EXPECT_EQ(op.find("s")->value_type->kind, TypeData::function);
  EXPECT_EQ(op.find("t")->kind, AttributeSyntax::boolean);
}

TEST(Parse, Types) {
  const OperationSyntax& op = operation(
      "%0:9 = \"x.y\"() : () -> (tensor<2x?x3xf32>, tensor<*xf32>, tensor<?xf32, "
      "#stablehlo.bounds<8>>, tuple<tensor<f32>, tuple<>>, !stablehlo.token, "
      "tensor<4x!quant.uniform<i8:f32, 0.1:3>>, !stablehlo.future<tensor<f32>>, memref<2xf32>, "
      "tensor<0xf8E4M3FN>)");
  EXPECT_EQ(op.result_types[0]->dims, (Integers{2, kDynamic, 3}));
  EXPECT_FALSE(op.result_types[1]->ranked);
  EXPECT_EQ(op.result_types[2]->dims, Integers{kDynamic});
  EXPECT_EQ(op.result_types[3]->members.size(), 2u);
  EXPECT_EQ(op.result_types[4]->kind, TypeData::token);
  EXPECT_EQ(op.result_types[5]->element, "!quant.uniform<i8:f32, 0.1:3>");
  EXPECT_EQ(op.result_types[6]->kind, TypeData::tuple);  // of the later value
  EXPECT_EQ(op.result_types[6]->members.size(), 1u);
  EXPECT_EQ(op.result_types[7]->kind, TypeData::other);
  EXPECT_EQ(op.result_types[8]->element, "f8E4M3FN");
}

TEST(Parse, ModulesFunctionsAndAliases) {
  const auto modules = parse_all(R"(
#c = 7 : i64
#loc1 = loc("f.py":1:2)
!t = tensor<2xf32>
module @jit_f attributes {mhlo.num_partitions = 1 : i32, jax.uses_shape_polymorphism = false} {
  sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[1, 0]>
  func.func public @main(%arg0: !t {mhlo.sharding = "{replicated}"} loc("x"), %arg1: tensor<f32>) -> (tensor<2xf32> {jax.result_info = "[0]['w']"}, !t) attributes {a = #c} {
    return %arg0, %arg0 : !t, !t loc(#loc1)
  } loc(#loc1)
  func.func private @helper(tensor<f32>) -> tensor<f32>
} loc(#loc)
#loc = loc(unknown)
{-#
  dialect_resources: {
    builtin: {
      w: "0x0400000000000080"
    }
  }
#-}
// -----
func.func @g() { func.return }
)");
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].name, "jit_f");
  ASSERT_EQ(modules[0].functions.size(), 2u);
  const FunctionSyntax& main = modules[0].functions[0];
  EXPECT_EQ(main.name, "main");
  EXPECT_EQ(main.arguments[0].type->dims, Integers{2});
  EXPECT_EQ(main.results[0].attributes[0].value.text, "[0]['w']");
  EXPECT_EQ(main.results.size(), 2u);
  EXPECT_TRUE(modules[0].functions[1].is_private);
  EXPECT_TRUE(modules[0].functions[1].declared_only);
  EXPECT_EQ(modules[0].resources.at("w"), "0x0400000000000080");
  EXPECT_EQ(modules[1].functions[0].name, "g");
}

TEST(Parse, ModulesInTheGenericForm) {
  const auto modules = parse_all(R"("builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<f32>):
    "func.return"(%arg0) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ())");
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(modules[0].name, "m");
  EXPECT_EQ(modules[0].functions[0].name, "main");
  EXPECT_EQ(modules[0].functions[0].results.size(), 1u);
  EXPECT_EQ(modules[0].functions[0].arguments[0].name, "arg0");
}

TEST(Parse, ChecksOfConformanceFiles) {
  const OperationSyntax& eq = operation("check.expect_eq_const %a, dense<[1, 2]> : tensor<2xi64>");
  EXPECT_EQ(eq.find("value")->data, "[1, 2]");
  EXPECT_EQ(eq.find("value")->value_type->dims, Integers{2});
  EXPECT_EQ(
      operation("check.expect_almost_eq_const %a, dense<5.1> : tensor<f64> {tolerance = 0.1 : f64}")
          .find("tolerance")
          ->text,
      "0.1");
  EXPECT_EQ(
      operation("check.expect_close %a, %b, max_ulp_difference = 3 : tensor<f16>, tensor<f16>")
          .find("max_ulp_difference")
          ->integer_value,
      3);
}

}  // namespace
}  // namespace tessera::stablehlo
