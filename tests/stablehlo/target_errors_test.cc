// Errors for programs that cannot be written for a platform.
#include "message.h"
#include "stablehlo/on_eight.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <string>

namespace ts = tessera;
using test::message;
using ts::Array;
using ts::P;

namespace {

const Array kMatrix = ts::abstract(ts::f32, {2, 2});

TEST(TargetErrors, AnUnknownPlatform) {
  const auto f = [](Array x) { return x; };
  EXPECT_EQ(message<ts::TraceError>([&] { ts::stablehlo_text({.platform = "gpu"}, f, kMatrix); }),
            "stablehlo_text: there is no platform 'gpu' to write a module for\n"
            "  rule: the platforms are cpu, cuda, portable, rocm and tpu\n"
            "  try: {.platform = \"cuda\"}");
  EXPECT_EQ(message<ts::TraceError>(
                [&] { ts::save_stablehlo({.platform = ""}, f, kMatrix, "no_module.mlir"); }),
            "save_stablehlo: there is no platform '' to write a module for\n"
            "  rule: the platforms are cpu, cuda, portable, rocm and tpu\n"
            "  try: {.platform = \"cuda\"}");
}

TEST(TargetErrors, WhatAPlatformHasNoRoutineFor) {
  const auto text = [](const char* platform, auto f, ts::DType d) {
    return message<ts::TraceError>([&] {
      ts::stablehlo_text({.platform = platform}, f, ts::abstract(d, {2, 2}));
    });
  };
  EXPECT_EQ(text(
                "portable", [](Array x) { return ts::linalg::svdvals(x); }, ts::f32),
            "stablehlo_text: the platform 'portable' has no routine for svd\n"
            "  rule: StableHLO and CHLO have no svd; it is written for cpu, cuda and rocm\n"
            "  try: {.platform = \"cpu\"}, or compute it outside of the function, and pass the "
            "result");
  EXPECT_EQ(text(
                "rocm", [](Array x) { return ts::linalg::eigvals(x); }, ts::f64),
            "stablehlo_text: the platform 'rocm' has no routine for eig\n"
            "  rule: the routines of rocm are those for lu, qr, svd and eigh; it is written for "
            "cpu and cuda\n"
            "  try: {.platform = \"cpu\"}, or compute it outside of the function, and pass the "
            "result");
  EXPECT_EQ(text(
                "tpu", [](Array x) { return ts::linalg::lu_factor(x).lu; }, ts::f64),
            "stablehlo_text: the platform 'tpu' has no routine for lu of float64\n"
            "  rule: tpu has it for float32; it is written for cpu, cuda and rocm\n"
            "  try: {.platform = \"cpu\"}, or compute it outside of the function, and pass the "
            "result");
}

using TargetErrorsOnEight = OnEight;

TEST_F(TargetErrorsOnEight, APortableModuleIsForOneDevice) {
  const ts::Mesh mesh = ts::make_mesh({8}, {"x"});
  const auto f = ts::shard_map([](Array a) { return ts::psum(a, "x"); },
                               {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}});
  EXPECT_EQ(
      message<ts::TraceError>(
          [&] { ts::stablehlo_text({.platform = "portable"}, f, ts::abstract(ts::f32, {8})); }),
      "stablehlo_text: a shard_map runs on several devices, and the module is for the platform "
      "'portable'\n"
      "  rule: maps over devices are Shardy's operations; StableHLO and CHLO have none\n"
      "  try: {.platform = \"cpu\"}, or another platform whose compiler has Shardy");
  EXPECT_EQ(message<ts::TraceError>([&] {
              ts::stablehlo_text(
                  {.platform = "portable", .shardings = true}, [](Array x) { return x; }, kMatrix);
            }),
            "stablehlo_text: a module for the platform 'portable' has no shardings\n"
            "  rule: shardings are Shardy's attributes; StableHLO and CHLO have none\n"
            "  try: leave .shardings out, or {.platform = \"cpu\", .shardings = true}");
}

}  // namespace
