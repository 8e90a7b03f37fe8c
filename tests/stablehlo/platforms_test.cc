// Whole modules for each platform.
#include "ir/builder.h"
#include "ops/linalg/solve.h"
#include "stablehlo/emit/emit.h"
#include "stablehlo/module_text.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace ts = tessera;
using module_text::module_of;
using ts::Array;
using ts::P;

namespace {

const Array kMatrix = ts::abstract(ts::f32, {2, 2});

TEST(Platforms, TheOptionsAsTheyComeAreThoseOfCpus) {
  const auto f = [](Array x) { return ts::linalg::svd(x).s + ts::matmul(x, x); };
  EXPECT_EQ(ts::stablehlo_text({}, f, kMatrix), ts::stablehlo_text(f, kMatrix));
  const ts::StableHloOptions cpu{.platform = "cpu"};
  EXPECT_EQ(ts::stablehlo_text(cpu, f, kMatrix), ts::stablehlo_text(f, kMatrix));
}

TEST(Platforms, EigenvaluesOnEachPlatform) {
  ts::Builder b;
  const ts::ProgramPtr eigh = b.finish(ts::ops::eigh(b.input(ts::Type(ts::f32, {2, 2})), false));
  const auto text_on = [&](const char* platform) {
    ts::stablehlo::Exported names;
    names.inputs = {"args[0]"};
    names.outputs = {"result"};
    return ts::stablehlo::emit_module(*eigh, names, *ts::stablehlo::find_target(platform));
  };
  const std::string main =
      "  func.func public @main(%arg0: tensor<2x2xf32> loc(\"args[0]\")) -> (tensor<2xf32> "
      "{jax.result_info = \"result\"}) {\n"
      "    %0 = stablehlo.composite \"tessera.eigh\" %arg0 {composite_attributes = {vectors = "
      "false}, decomposition = @tessera.eigh} : (tensor<2x2xf32>) -> tensor<2xf32>\n"
      "    return %0 : tensor<2xf32>\n"
      "  }\n"
      "  func.func private @tessera.eigh(%arg0: tensor<2x2xf32>) -> (tensor<2xf32>) {\n";
  const std::string end = "    return %0#1 : tensor<2xf32>\n  }\n";
  const std::string layouts =
      "operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : "
      "tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : "
      "(tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<i32>)\n";
  EXPECT_EQ(text_on("cpu"),
            module_of(main,
                      "    %0:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%arg0) "
                      "{mhlo.backend_config = {mode = 78 : ui8, uplo = 76 : ui8}, " +
                          layouts + end));
  for (const auto& [platform, library] :
       {std::pair("cuda", "cusolver"), std::pair("rocm", "hipsolver")})
    EXPECT_EQ(text_on(platform),
              module_of(main, std::string("    %0:3 = stablehlo.custom_call @") + library +
                                  "_syevd_ffi(%arg0) {mhlo.backend_config = {algorithm = 0 : ui8, "
                                  "lower = true}, " +
                                  layouts + end));
  EXPECT_EQ(text_on("tpu"),
            module_of(main,
                      "    %0:2 = stablehlo.custom_call @Eigh(%arg0) {backend_config = "
                      "\"1,1,100,1e-6\"} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, "
                      "tensor<2xf32>)\n" +
                          end));
}

TEST(Platforms, APortableModuleHasOperationsOfStableHloOnly) {
  const auto f = [](Array a, Array b) {
    return ts::with_sharding_constraint(ts::linalg::solve_triangular(a, b, {.lower = true}),
                                        ts::Sharding(ts::make_mesh({1}, {"x"}), P("x")));
  };
  EXPECT_EQ(
      ts::stablehlo_text({.platform = "portable"}, f, kMatrix, kMatrix),
      module_of("  func.func public @main(%arg0: tensor<2x2xf32> loc(\"args[0]\"), %arg1: "
                "tensor<2x2xf32> loc(\"args[1]\")) -> (tensor<2x2xf32> {jax.result_info = "
                "\"result\"}) {\n"
                "    %0 = \"stablehlo.triangular_solve\"(%arg0, %arg1) <{left_side = true, lower = "
                "true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : "
                "(tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n"
                "    return %0 : tensor<2x2xf32>\n"
                "  }\n",
                ""));
}

}  // namespace
