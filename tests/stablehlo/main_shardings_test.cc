// The shardings of the arguments and results of @main.
#include "stablehlo/module_text.h"
#include "stablehlo/on_eight.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ts = tessera;
using module_text::first_line_with;
using ts::Array;
using ts::P;

namespace {

using Arrays = std::vector<Array>;

using MainShardings = OnEight;

// The shardings of a jit become those of @main, and a constraint inside stays there.
TEST_F(MainShardings, ShardingsOfArgumentsAndResults) {
  const ts::Mesh mesh = ts::make_mesh({4, 2}, {"data", "model"});
  const auto f = ts::jit(
      [](Array w, Array x, Array y) {
        const Array h = ts::with_sharding_constraint(x + y, P("data"));
        return Arrays{w * w, -h};
      },
      {.mesh = mesh,
       .in_shardings = {P(ts::none, "model"), P("data"), ts::unconstrained},
       .out_shardings = {P(ts::none, "model"), ts::unconstrained},
       .donate = {0, 1}});
  const Array w = ts::arange(16).astype(ts::f32).reshape({2, 8}),
              x = ts::arange(32).astype(ts::f32).reshape({8, 4}), y = ts::ones({8, 4});
  const std::string text =
      ts::stablehlo_text({.platform = "cuda", .donation = true, .shardings = true}, f, w, x, y);
  EXPECT_EQ(
      text,
      "module @main attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  sdy.mesh @mesh = <[\"data\"=4, \"model\"=2]>\n"
      "  func.func public @main(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, "
      "{\"model\"}]>, tf.aliasing_output = 0 : i32} loc(\"args[0]\"), %arg1: tensor<8x4xf32> "
      "{jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>} "
      "loc(\"args[1]\"), %arg2: tensor<8x4xf32> loc(\"args[2]\")) -> (tensor<2x8xf32> "
      "{jax.result_info = \"result[0]\", sdy.sharding = #sdy.sharding<@mesh, [{}, {\"model\"}]>}, "
      "tensor<8x4xf32> {jax.result_info = \"result[1]\"}) {\n"
      "    %0 = stablehlo.add %arg1, %arg2 : tensor<8x4xf32>\n"
      "    %1 = sdy.sharding_constraint %0 <@mesh, [{\"data\"}, {}]> : tensor<8x4xf32>\n"
      "    %2 = stablehlo.multiply %arg0, %arg0 : tensor<2x8xf32>\n"
      "    %3 = stablehlo.negate %1 : tensor<8x4xf32>\n"
      "    return %2, %3 : tensor<2x8xf32>, tensor<8x4xf32>\n"
      "  }\n"
      "}\n");
  // Read back, it runs on the eight devices like the jit.
  const ts::LoadedFunction g = ts::load_stablehlo_text(text);
  EXPECT_TRUE(g.inputs()[0].donated && g.inputs()[1].donated && !g.inputs()[2].donated);
  const Arrays got = g(w, x, y), want = f(w.copy(), x.copy(), y);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(ts::array_equal(got[i], want[i]).item<bool>()) << i;
    EXPECT_EQ(got[i].sharding().spec(), want[i].sharding().spec()) << i;
    EXPECT_EQ(got[i].shards().size(), 8u);
  }
  // As constraints in the body, the shardings have the same effect.
  const Arrays inside = ts::load_stablehlo_text(ts::stablehlo_text(f, w, x, y))(w, x, y);
  EXPECT_EQ(inside[0].sharding().spec(), want[0].sharding().spec());
}

// A constraint of a value that has another reader does not become the sharding of an argument or
// result.
TEST_F(MainShardings, ConstraintsOfOneUseStayInside) {
  const ts::Mesh mesh = ts::make_mesh({8}, {"x"});
  const auto f = [&](Array a) {
    const Array b = ts::with_sharding_constraint(a, ts::Sharding(mesh, P("x")));
    const Array c = ts::with_sharding_constraint(a * b, ts::Sharding(mesh, P("x")));
    return Arrays{c, ts::sin(c)};
  };
  const std::string text = ts::stablehlo_text({.shardings = true}, f, ts::abstract(ts::f32, {8}));
  EXPECT_EQ(text.find("sdy.sharding ="), std::string::npos) << text;
  EXPECT_EQ(text, ts::stablehlo_text(f, ts::abstract(ts::f32, {8})));
}

// An array that is sharded over devices passes its sharding on if the function requests none.
TEST_F(MainShardings, ShardingsOfArraysThatArePassed) {
  const ts::Mesh mesh = ts::make_mesh({8}, {"x"});
  const Array a = ts::device_put(ts::arange(16).astype(ts::f32), mesh, P("x")), b = ts::ones({16});
  const auto f = [](Array a, Array b) { return ts::sum(a * b); };
  const std::string text = ts::stablehlo_text({.shardings = true}, f, a, b);
  EXPECT_EQ(first_line_with(text, "@main("),
            "  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, "
            "[{\"x\"}]>} loc(\"args[0]\"), %arg1: tensor<16xf32> loc(\"args[1]\")) -> (tensor<f32> "
            "{jax.result_info = \"result\"}) {");
  EXPECT_EQ(ts::load_stablehlo_text(text)(a, b)[0].item<float>(), 120);
  EXPECT_EQ(ts::stablehlo_text(f, a, b).find("sdy"), std::string::npos);
}

// A training step over eight devices is written with shardings and donation, and loaded again.
TEST_F(MainShardings, ATrainingStepComesBack) {
  const ts::Mesh mesh = ts::make_mesh({4, 2}, {"data", "model"});
  const auto step = ts::jit(
      [](std::pair<Array, Array> w, Array x, Array y) {
        auto [loss, g] = ts::value_and_grad([&](std::pair<Array, Array> w) {
          const Array h = ts::tanh(ts::matmul(x, w.first));
          return ts::mean(ts::square(ts::matmul(h, w.second) - y));
        })(w);
        return std::tuple(std::pair(w.first - 0.1 * g.first, w.second - 0.1 * g.second), loss);
      },
      {.mesh = mesh,
       .in_shardings = {{P(ts::none, "model"), P("model")}, P("data"), P("data")},
       .out_shardings = {{P(ts::none, "model"), P("model")}, P()},
       .donate = {0}});
  const auto normal = [](std::uint64_t seed, const ts::Shape& shape) {
    return ts::random::normal(ts::random::key(seed), shape);
  };
  const Array w = normal(1, {4, 8}), v = normal(2, {8, 2}), x = normal(3, {16, 4}),
              y = normal(4, {16, 2});
  const ts::LoadedFunction f = ts::load_stablehlo_text(ts::stablehlo_text(
      {.platform = "tpu", .donation = true, .shardings = true}, step, std::pair(w, v), x, y));
  EXPECT_TRUE(f.inputs()[0].donated && f.inputs()[1].donated);
  const Arrays got = f(w, v, x, y);
  const auto [weights, loss] = step(std::pair(w.copy(), v.copy()), x, y);
  EXPECT_TRUE(ts::array_equal(got[0], weights.first).item<bool>());
  EXPECT_TRUE(ts::array_equal(got[1], weights.second).item<bool>());
  EXPECT_TRUE(ts::array_equal(got[2], loss).item<bool>());
  EXPECT_EQ(got[0].sharding().spec(), weights.first.sharding().spec());
  EXPECT_EQ(got[1].sharding().spec(), weights.second.sharding().spec());
}

// The second mesh numbers the same devices by other axes: ('i', 'j') is "x" of the first, and "k" is
// "y". No axes of the first mesh are "i" alone, so the constraint is ignored, and the result keeps
// the sharding of the argument.
TEST_F(MainShardings, ShardingsOverASecondMesh) {
  const auto module = [](const std::string& cut) {
    return "module attributes {mhlo.num_partitions = 8 : i32} {\n"
           "  sdy.mesh @first = <[\"x\"=4, \"y\"=2]>\n"
           "  sdy.mesh @second = <[\"i\"=2, \"j\"=2, \"k\"=2]>\n"
           "  func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@first, [{\"y\"}]>}) "
           "-> "
           "tensor<8xf32> {\n"
           "    %b = stablehlo.negate %a : tensor<8xf32>\n"
           "    %c = sdy.sharding_constraint %b <@second, [" +
           cut + "]> : tensor<8xf32>\n    return %c : tensor<8xf32>\n  }\n}\n";
  };
  const Array x = ts::arange(8).astype(ts::f32);
  for (const auto& [cut, spec] : {std::pair{"{\"i\", \"j\"}", P("x")}, std::pair{"{\"k\"}", P("y")},
                                  std::pair{"{\"i\"}", P("y")}}) {
    const Array got = ts::load_stablehlo_text(module(cut))(x)[0];
    EXPECT_TRUE(ts::array_equal(got, -x).item<bool>()) << cut;
    EXPECT_EQ(got.sharding().spec(), spec) << cut;
  }
}

// A loaded function takes and returns whole arrays, which keep the rest of such a sharding.
TEST_F(MainShardings, UnreducedArraysKeepTheirDivision) {
  const std::string sharding =
      " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}], unreduced={\"y\"}>}";
  const std::string ends[][2] = {{sharding, ""}, {"", sharding}};
  for (const auto& [argument, result] : ends) {
    const Array x = ts::arange(8).astype(ts::f32);
    const Array got = ts::load_stablehlo_text(
        "module attributes {mhlo.num_partitions = 8 : i32} {\n"
        "  sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n"
        "  func.func @main(%a: tensor<8xf32>" +
        argument + ") -> (tensor<8xf32>" + result +
        ") {\n"
        "    %b = stablehlo.negate %a : tensor<8xf32>\n"
        "    return %b : tensor<8xf32>\n  }\n}\n")(x)[0];
    EXPECT_TRUE(ts::array_equal(got, -x).item<bool>());
    EXPECT_EQ(got.sharding().spec(), P("x"));
  }
}

}  // namespace
