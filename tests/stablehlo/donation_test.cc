// Donated arguments in modules.
#include "stablehlo/module_text.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;
using module_text::first_line_with;
using ts::Array;

namespace {

using Arrays = std::vector<Array>;

// The first result that has the type of a donated argument takes its memory.
TEST(Donation, DonatedArgumentsSayWhichResultTakesTheirMemory) {
  const auto step = ts::jit(
      [](std::pair<Array, Array> weights, Array x, Array spare, Array kept) {
        return Arrays{ts::sum(x), weights.second + 1, weights.first + kept, spare * 2};
      },
      {.donate = {0, 2}});
  const auto arguments = [&](const ts::StableHloOptions& options) {
    const std::string text = ts::stablehlo_text(
        options, step, std::pair(ts::abstract(ts::f32, {2, 2}), ts::abstract(ts::f32, {2, 2})),
        ts::abstract(ts::f32, {3}), ts::abstract(ts::i32, {7}), ts::abstract(ts::f32, {2, 2}));
    const std::string line = first_line_with(text, "@main(");
    return line.substr(line.find('('), line.find(" -> ") - line.find('('));
  };
  EXPECT_EQ(arguments({.donation = true}),
            "(%arg0: tensor<2x2xf32> {tf.aliasing_output = 1 : i32} loc(\"args[0]/0\"), %arg1: "
            "tensor<2x2xf32> {tf.aliasing_output = 2 : i32} loc(\"args[0]/1\"), %arg2: "
            "tensor<3xf32> loc(\"args[1]\"), %arg3: tensor<7xi32> {tf.aliasing_output = 3 : i32} "
            "loc(\"args[2]\"), %arg4: tensor<2x2xf32> loc(\"args[3]\"))");
  EXPECT_EQ(arguments({}),
            "(%arg0: tensor<2x2xf32> loc(\"args[0]/0\"), %arg1: tensor<2x2xf32> "
            "loc(\"args[0]/1\"), %arg2: tensor<3xf32> loc(\"args[1]\"), %arg3: tensor<7xi32> "
            "loc(\"args[2]\"), %arg4: tensor<2x2xf32> loc(\"args[3]\"))");
}

TEST(Donation, DonatedArgumentsWithoutSuchAResultAreDonors) {
  const Array matrix = ts::abstract(ts::f32, {2, 2});
  const auto f = ts::jit([](Array x, Array y) { return ts::reshape(x, {4}) + y; }, {.donate = {0}});
  EXPECT_EQ(
      first_line_with(ts::stablehlo_text({.donation = true}, f, matrix, ts::abstract(ts::f32, {4})),
                      "@main("),
      "  func.func public @main(%arg0: tensor<2x2xf32> {jax.buffer_donor = true} "
      "loc(\"args[0]\"), %arg1: tensor<4xf32> loc(\"args[1]\")) -> (tensor<4xf32> "
      "{jax.result_info = \"result\"}) {");
  // A function that is not a jit donates nothing.
  const auto plain = [](Array x) { return x + 1; };
  EXPECT_EQ(ts::stablehlo_text({.donation = true}, plain, matrix),
            ts::stablehlo_text(plain, matrix));
}

TEST(Donation, ALoadedFunctionSaysWhichArgumentsWereDonated) {
  const ts::LoadedFunction f = ts::load_stablehlo_text(R"(
func.func @main(%a: tensor<f32> {tf.aliasing_output = 0 : i32}, %b: tensor<f32> {jax.buffer_donor = true}, %c: tensor<f32> {jax.buffer_donor = false}, %d: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
})");
  std::vector<bool> donated;
  for (const ts::ArrayType& t : f.inputs()) donated.push_back(t.donated);
  EXPECT_EQ(donated, (std::vector<bool>{true, true, false, false}));
  EXPECT_FALSE(f.outputs()[0].donated);
  // A call does not donate them.
  const Array a(2.0f), b(3.0f);
  EXPECT_EQ(f(a, b, a, a)[0].item<float>(), 5);
  EXPECT_EQ(a.item<float>() + b.item<float>(), 5);
}

}  // namespace
