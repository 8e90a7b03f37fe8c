// Malicious texts: each gives an error or a module, in bounded time and memory.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <random>

namespace ts = tessera;

namespace {

// Whether a text is refused; any outcome other than a module or an Error fails the test.
bool refused(const std::string& text) {
  try {
    ts::load_stablehlo_text(text);
    return false;
  } catch (const ts::Error&) {
    return true;
  }
}

const char* kSample = R"(#c = 7 : i64
module @m attributes {a = "x"} {
  func.func public @main(%x: tensor<2x2xf32> {k = [1, 2]}) -> (tensor<f32>, tensor<2x2xf32>) {
    %c = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.add %x, %c : tensor<2x2xf32>
    %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %3 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = stablehlo.slice %2 [0:2, 0:2:1] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = stablehlo.dot_general %4, %x, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %1, %5 : tensor<f32>, tensor<2x2xf32>
  }
}
)";

TEST(Hostile, TruncatedAtEachByte) {
  const std::string sample = kSample;
  ASSERT_FALSE(refused(sample));
  const std::size_t whole = sample.rfind('}');
  for (std::size_t n = 0; n <= whole; ++n) EXPECT_TRUE(refused(sample.substr(0, n))) << n;
}

TEST(Hostile, BytesThatAreChanged) {
  std::mt19937 random(7);
  std::size_t errors = 0;
  constexpr std::size_t kTexts = 3000;
  for (std::size_t i = 0; i < kTexts; ++i) {
    std::string text = kSample;
    for (int k = 0; k < 1 + static_cast<int>(random() % 3); ++k) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 20); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
    }
    errors += refused(text);
  }
  EXPECT_GT(errors, kTexts / 2);
}

std::string repeated(const std::string& s, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += s;
  return out;
}

TEST(Hostile, DeepNesting) {
  constexpr std::size_t kDeep = 200000;
  const std::string head = "func.func @main() { %0 = \"x.y\"() ";
  EXPECT_TRUE(refused(head + "{a = " + repeated("[", kDeep)));
  EXPECT_TRUE(refused(head + "{a = " + repeated("{b = ", kDeep)));
  EXPECT_TRUE(refused(head + repeated("({ \"x.y\"() ", kDeep)));
  EXPECT_TRUE(refused("func.func @main(%a: " + repeated("tuple<", kDeep)));
  EXPECT_TRUE(refused("func.func @main(%a: " + repeated("(", kDeep)));
  EXPECT_TRUE(refused(repeated("module {", kDeep)));
  EXPECT_TRUE(refused(head + "{a = #x.y<" + repeated("<[({", kDeep)));
  EXPECT_TRUE(refused("func.func @main() { %0 = stablehlo.constant dense<" + repeated("[", kDeep) +
                      "> : tensor<1xf32>"));
  EXPECT_TRUE(refused("func.func @main(%a: tensor<" + repeated("1x", kDeep) + "f32>) { return }"));
}

TEST(Hostile, HugeSizes) {
  const auto constant = [](const std::string& data, const std::string& type) {
    return "func.func @main() -> " + type + " {\n%0 = stablehlo.constant dense<" + data +
           "> : " + type + "\nreturn %0 : " + type + "\n}";
  };
  EXPECT_TRUE(refused(constant("[1]", "tensor<4611686018427387904x4611686018427387904xi8>")));
  EXPECT_TRUE(refused(constant("1", "tensor<4611686018427387904x4611686018427387904xi8>")));
  EXPECT_TRUE(refused(constant("[1]", "tensor<99999999999999999999xi8>")));
  EXPECT_TRUE(refused(constant("\"0x00\"", "tensor<1099511627776x7xi16>")));
  EXPECT_FALSE(
      refused(constant("1", "tensor<1099511627776xi8>")));  // a splat: one element in memory
  EXPECT_TRUE(refused("func.func @main() { %0:4294967296 = \"x.y\"() : () -> () return }"));
  EXPECT_TRUE(
      refused("func.func @main(%a: tensor<2xf32>) { %0 = stablehlo.abs %a#99999999999 : "
              "tensor<2xf32> return }"));
  const auto window = [](const std::string& attributes) {
    return "func.func @main(%a: tensor<2xi32>, %z: tensor<i32>) { %0 = "
           "\"stablehlo.reduce_window\"(%a, %z) <{" +
           attributes +
           "}> ({ ^bb0(%x: tensor<i32>, %y: tensor<i32>): %s = stablehlo.subtract %x, %y : "
           "tensor<i32> stablehlo.return %s : tensor<i32> }) : (tensor<2xi32>, tensor<i32>) -> "
           "tensor<2xi32> return }";
  };
  for (const char* value : {"9223372036854775807", "2147483648", "-1", "0", "2000000000"})
    for (const char* name : {"window_dimensions", "window_strides", "base_dilations"})
      EXPECT_TRUE(refused(window(std::string(name) + " = array<i64: " + value + ">")))
          << name << " " << value;

  const auto convolution = [](const std::string& windows, const std::string& groups) {
    return "func.func @main(%a: tensor<1x8x1xf32>, %k: tensor<8x1x1xf32>) -> tensor<?x?x?xf32> { "
           "%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
           "window = {" +
           windows + "} {batch_group_count = 1 : i64, feature_group_count = " + groups +
           " : i64} : (tensor<1x8x1xf32>, tensor<8x1x1xf32>) -> tensor<?x?x?xf32> return %0 : "
           "tensor<?x?x?xf32> }";
  };
  for (const char* value : {"9223372036854775807", "4683743612465315841", "1152921504606846976"}) {
    for (const char* name : {"lhs_dilate", "rhs_dilate"})
      EXPECT_TRUE(refused(convolution(std::string(name) + " = [" + value + "]", "1")))
          << name << " " << value;
    EXPECT_TRUE(refused(convolution("pad = [[" + std::string(value) + ", 1]]", "1"))) << value;
    EXPECT_TRUE(refused(convolution("pad = [[0, -" + std::string(value) + "]]", "1"))) << value;
    EXPECT_TRUE(refused(convolution("stride = [1]", value))) << value;
  }
}

// A short text that expands to a long one.
TEST(Hostile, WhatGrowsWhenItIsExpanded) {
  std::string
      aliases = "#a0 = [\"x\"]\n",
      calls = "func.func private @f0(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }\n";
  for (int i = 1; i < 40; ++i) {
    const std::string n = std::to_string(i), m = std::to_string(i - 1);
    aliases += "#a" + n + " = [#a" + m + ", #a" + m + ", #a" + m + "]\n";
    calls += "func.func private @f" + n + "(%x: tensor<f32>) -> tensor<f32> { %0 = call @f" + m +
             "(%x) : (tensor<f32>) -> tensor<f32>\n%1 = call @f" + m +
             "(%0) : (tensor<f32>) -> tensor<f32>\nreturn %1 : tensor<f32> }\n";
  }
  EXPECT_TRUE(refused(aliases + "func.func @main() { return }"));
  EXPECT_TRUE(refused(calls +
                      "func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = call @f39(%x) : "
                      "(tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32> }"));
}

TEST(Hostile, CallsThatNestDeep) {
  std::string calls =
      "func.func private @f0(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }\n";
  constexpr int kDeep = 2000;
  for (int i = 1; i <= kDeep; ++i)
    calls += "func.func private @f" + std::to_string(i) +
             "(%x: tensor<f32>) -> tensor<f32> { %0 = call @f" + std::to_string(i - 1) +
             "(%x) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32> }\n";
  EXPECT_TRUE(refused(calls + "func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = call @f" +
                      std::to_string(kDeep) +
                      "(%x) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32> }"));
}

}  // namespace
