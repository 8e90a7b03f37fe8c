// Modules from memory: the same functions as from files.
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include "message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace {

namespace ts = tessera;
using ts::Array;

std::string path_of(const std::string& name) {
  return std::string(TESSERA_TEST_DIR) + "/stablehlo/exported/" + name;
}
std::string contents(const std::string& name) {
  std::ifstream in(path_of(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TEST(FromMemory, EveryFormIsTheFunctionOfItsFile) {
  for (const char* ending : {".mlir", ".mlirbc", ".jaxexport"}) {
    const ts::LoadedFunction file = ts::load_stablehlo(path_of(std::string("dense") + ending));
    ts::LoadedFunction memory;
    {
      const std::string text = contents(std::string("dense") + ending);
      memory = ts::load_stablehlo(bytes_of(text));
    }
    EXPECT_EQ(memory.inputs(), file.inputs()) << ending;
    EXPECT_EQ(memory.outputs(), file.outputs()) << ending;
    std::vector<Array> arguments;
    for (const ts::ArrayType& t : file.inputs())
      arguments.push_back(ts::random::normal(ts::random::key(arguments.size()), t.shape));
    const std::vector<Array> want = file(arguments), got = memory(arguments);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(ts::array_equal(got[i], want[i]).item<bool>()) << ending;
  }
}

TEST(FromMemory, WhatIsNoModuleIsRefusedWithItsPlace) {
  const auto said = [](const std::string& text) {
    return test::message<ts::IoError>([&] { ts::load_stablehlo(bytes_of(text)); });
  };
  EXPECT_EQ(
      said(""),
      "load_stablehlo: line 1, column 1: there is no module and no function\n      \n      ^");
  const std::string cut = contents("dense.mlirbc").substr(0, 40);
  EXPECT_TRUE(said(cut).starts_with("load_stablehlo: byte ")) << said(cut);
  const ts::LoadedFunction f = ts::load_stablehlo(
      bytes_of("func.func @twice(%x: tensor<f32>) -> tensor<f32> {\n  %0 = stablehlo.add %x, %x : "
               "tensor<f32>\n  return %0 : tensor<f32>\n}\n"),
      {.function = "twice"});
  EXPECT_EQ(f(Array(1.5f))[0].item<float>(), 3.0f);
}

TEST(Programs, OpenDimensionsHaveTheExtentThatIsAskedFor) {
  const std::string path = testing::TempDir() + "memory_test_open.mlir";
  std::ofstream(path) << R"(func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = stablehlo.add %x, %x : tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
)";
  EXPECT_NE(ts::stablehlo_program(path).find("f32[1,3]"), std::string::npos);
  EXPECT_NE(ts::stablehlo_program(path, {}, 7).find("f32[7,3]"), std::string::npos);
  std::remove(path.c_str());
}
