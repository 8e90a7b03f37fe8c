// Errors for texts that are not modules, and for modules that are not supported: whole texts, in
// errors.txt. TESSERA_UPDATE_EXPECTED=1 writes them; read them like a user who has made the
// mistake.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <source_location>
#include <sstream>
#include <string>
#include <vector>

namespace ts = tessera;

namespace {

struct Mistake {
  const char* what;
  std::string text;
};

std::string in_main(const std::string& body,
                    const std::string& arguments = "%a: tensor<4xf32>, %b: tensor<4xf32>") {
  return "func.func @main(" + arguments + ") -> tensor<4xf32> {\n  " + body +
         "\n  return %0 : tensor<4xf32>\n}\n";
}

std::vector<Mistake> mistakes() {
  const std::string t = "tensor<4xf32>";
  return {
      {"an empty text", ""},
      {"no module", "hello"},
      {"an unknown character", in_main("%0 = stablehlo.add %a, %b ; " + t)},
      {"no types", in_main("%0 = stablehlo.add %a, %b")},
      {"an operand that is no value", in_main("%0 = stablehlo.add %a, b : " + t)},
      {"a key that the operation does not have",
       in_main("%0 = stablehlo.transpose %a, dimensions = [0] : (" + t + ") -> " + t)},
      {"a bracket that is not closed",
       in_main("%0 = stablehlo.transpose %a, dims = [0 : (" + t + ") -> " + t)},
      {"a string without end", in_main("%0 = \"stablehlo.add(%a, %b) : (" + t + ") -> " + t)},
      {"a dimension without 'x'", in_main("%0 = stablehlo.add %a, %b : tensor<4,4>")},
      {"a zeta function of integers",
       "func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {\n  %0 = chlo.zeta %a, %a : "
       "tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>\n  return %0 : tensor<4xi32>\n}\n"},
      {"a dialect that is not known", in_main("%0 = linalg.matmul ins(%a, %b)")},
      {"two results for one name",
       in_main("%0 = stablehlo.convert %a : (" + t + ") -> (" + t + ", " + t + ")")},
      {"an operation that is not supported",
       in_main("%0 = stablehlo.rng %a, %b, %a, distribution = NORMAL : (" + t + ", " + t + ", " +
               t + ") -> " + t)},
      {"a custom call",
       in_main("%0 = stablehlo.custom_call @lapack_sgglse_ffi(%a) : (" + t + ") -> " + t)},
      {"a value that is not defined", in_main("%0 = stablehlo.add %a, %c : " + t)},
      {"a result that is none", in_main("%0 = stablehlo.add %a, %b#1 : " + t)},
      {"a name defined twice", in_main("%a = stablehlo.add %a, %b : " + t)},
      {"operands of two shapes",
       in_main("%0 = stablehlo.add %a, %b : " + t, "%a: tensor<4xf32>, %b: tensor<3xf32>")},
      {"a type that is not the result's",
       in_main("%0 = stablehlo.transpose %a, dims = [0] : (" + t + ") -> tensor<5xf32>")},
      {"too few operands", in_main("%0 = stablehlo.add %a : " + t)},
      {"a missing attribute", in_main("%0 = \"stablehlo.transpose\"(%a) : (" + t + ") -> " + t)},
      {"a dynamic type", in_main("%0 = stablehlo.convert %a : (" + t + ") -> tensor<?xf32>")},
      {"a quantized type", in_main("%0 = stablehlo.uniform_quantize %a : (" + t +
                                   ") -> tensor<4x!quant.uniform<i8:f32, 0.1>>")},
      {"a dtype that there is not",
       in_main("%0 = stablehlo.convert %a : (" + t + ") -> tensor<4xtf32>")},
      {"a constant of the wrong length",
       in_main("%0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : " + t)},
      {"a constant of the wrong depth",
       in_main("%0 = stablehlo.constant dense<[[1.0], [2.0]]> : " + t)},
      {"a constant that is no number",
       in_main("%0 = stablehlo.constant dense<[1.0, x, 3.0, 4.0]> : " + t)},
      {"a constant of damaged bytes", in_main("%0 = stablehlo.constant dense<\"0x0000\"> : " + t)},
      {"data that are elsewhere",
       in_main("%0 = stablehlo.constant dense_resource<__elided__> : " + t)},
      {"a function that is not there", in_main("%0 = call @g(%a) : (" + t + ") -> " + t)},
      {"a function that calls itself",
       in_main("%0 = call @main(%a, %b) : (" + t + ", " + t + ") -> " + t)},
      {"no main", "func.func @f() { return }\nfunc.func private @g() { return }"},
      {"two modules", "module @a { func.func @main() { return } }\n// -----\nmodule @b { }"},
      {"results that are not declared",
       "func.func @main(%a: tensor<f32>) -> tensor<i32> {\n  return %a : tensor<f32>\n}"},
      {"a collective",
       in_main("%0 = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1]]> : "
               "tensor<1x2xi64>}> ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    "
               "%s = stablehlo.add %x, %y : tensor<f32>\n    stablehlo.return %s : tensor<f32>\n  "
               "}) : (" +
               t + ") -> " + t)},
      {"a program for each device along an axis twice",
       "sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\nfunc.func @main(%a: tensor<4xf32>) -> tensor<4xf32> "
       "{\n  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\"}]>] "
       "out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\", \"x\"} (%b: tensor<2xf32>) {\n    "
       "sdy.return %b : tensor<2xf32>\n  } : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : "
       "tensor<4xf32>\n}"},
  };
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Errors, SayWhereAndWhatIsExpected) {
  std::string got;
  for (const Mistake& m : mistakes()) {
    got += "== " + std::string(m.what) + "\n";
    try {
      ts::load_stablehlo_text(m.text, {}, std::source_location());
      got += "no error\n";
    } catch (const ts::IoError& e) {
      got += std::string(e.what()) + "\n";
    }
  }
  const std::string path = TESSERA_TEST_DIR "/stablehlo/errors.txt";
  if (const char* v = std::getenv("TESSERA_UPDATE_EXPECTED"); v && std::string(v) == "1")
    std::ofstream(path) << got;
  EXPECT_EQ(read_file(path), got);
}

// Errors of the ops that a module becomes are shown at the module's line.
TEST(Errors, HaveTheProblemOfTheOperation) {
  try {
    ts::load_stablehlo_text(in_main("%0 = stablehlo.add %a, %b : tensor<4xf32>",
                                    "%a: tensor<4xf32>, %b: tensor<3xf32>"),
                            {}, std::source_location());
    FAIL() << "no error";
  } catch (const ts::IoError& e) {
    EXPECT_EQ(e.function(), "load_stablehlo_text");
    EXPECT_EQ(e.headline(),
              "load_stablehlo_text: line 2, column 8: stablehlo.add: operands have shapes (4,) and "
              "(3,)");
    EXPECT_EQ(e.parts().text(), e.what());
  }
}

TEST(Errors, OfModulesThatAreChecked) {
  const std::string path = testing::TempDir() + "stablehlo_errors_test.mlir";
  std::ofstream(path) << in_main("%0 = linalg.matmul ins(%a, %b)");
  const std::vector<ts::StableHloCheck> checks = ts::check_stablehlo(path);
  std::remove(path.c_str());
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].outcome, ts::StableHloCheck::refused);
  EXPECT_EQ(checks[0].message,
            path +
                ", line 2, column 8: the form of 'linalg.matmul' is not known\n"
                "        %0 = linalg.matmul ins(%a, %b)\n"
                "             ^\n"
                "  rule: operations of StableHLO, CHLO, Shardy and func are read in both forms, "
                "those of other dialects in the generic form only\n"
                "  try: print the module in the generic form, or lower it to StableHLO first");
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const ts::Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Errors, OfCalls) {
  const auto f = ts::load_stablehlo_text(
      "func.func @main(%x: tensor<2xf32>, %n: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) { "
      "return %x, %n : tensor<2xf32>, tensor<i32> }");
  EXPECT_EQ(message_of([&] { f(std::vector<ts::Array>{ts::zeros(2)}, std::source_location()); }),
            "@main: it takes 2 arguments, and gets 1\n"
            "  try: inputs() lists their names, dtypes and shapes");
  EXPECT_EQ(message_of([&] {
              f(std::vector<ts::Array>{ts::zeros({3}, ts::f64), 1.5}, std::source_location());
            }),
            "@main: these arguments do not match its parameters:\n"
            "  - x is f32[2], and gets f64[3]\n"
            "  - n is i32[], and gets f32[]\n"
            "  rule: dtypes and shapes are those that it was exported for\n"
            "  try: convert and reshape the arguments as inputs() says");
  EXPECT_EQ(message_of([&] { f.single(std::source_location()); }),
            "single: @main has 2 results\n"
            "  rule: a function for grad has one\n"
            "  try: call the function itself, and take one of its results in a lambda");
  EXPECT_EQ(
      message_of([&] { ts::LoadedFunction().inputs(); }),
      "load_stablehlo: this function holds nothing: it was never loaded, or it was moved away\n"
      "  try: assign it what load_stablehlo gives");
  EXPECT_NE(message_of([&] { ts::load_stablehlo("no/such/file.mlir"); }).find("no/such/file.mlir"),
            std::string::npos);
}

}  // namespace
