// Measures how fast modules are read: texts of many operations in both forms, text as JAX prints a
// model, text with many numbers, and artifacts if files are named; and how fast a program is
// written.
//
//     import_bench [FILE...]
#include <tessera/tessera.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace ts = tessera;

namespace {

// The shortest of five runs.
double seconds(const std::function<void()>& f) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

void report(const std::string& what, std::size_t bytes, double s) {
  std::printf("%-44s %8.2f MB %9.1f ms %8.1f MB/s\n", what.c_str(), 1e-6 * double(bytes), 1e3 * s,
              1e-6 * double(bytes) / s);
}

std::string operations(int n) {
  std::string text = "func.func public @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {\n";
  std::string last = "%arg0";
  for (int i = 0; i < n; ++i) {
    const std::string name = "%" + std::to_string(i);
    text += "  " + name + " = stablehlo." + (i % 3 == 0 ? "add " : "multiply ") + last +
            ", %arg0 : tensor<4x8xf32>\n";
    last = name;
  }
  return text + "  return " + last + " : tensor<4x8xf32>\n}\n";
}

// The same operations in the generic form, with or without source locations.
std::string generic_operations(int n, bool places) {
  const std::string type = "tensor<4x8xf32>";
  std::string text = "\"builtin.module\"() ({\n\"func.func\"() <{function_type = (" + type +
                     ") -> " + type + ", sym_name = \"main\"}> ({\n^bb0(%arg0: " + type + "):\n";
  std::string last = "%arg0";
  for (int i = 0; i < n; ++i) {
    const std::string name = "%" + std::to_string(i);
    text += "  " + name + " = \"stablehlo." + (i % 3 == 0 ? "add" : "multiply") + "\"(" + last +
            ", %arg0) : (" + type + ", " + type + ") -> " + type +
            (places ? " loc(#loc" + std::to_string(i % 100) + ")\n" : "\n");
    last = name;
  }
  text += "  \"func.return\"(" + last + ") : (" + type + ") -> ()\n}) : () -> ()\n}) : () -> ()\n";
  for (int i = 0; places && i < 100; ++i)
    text += "#loc" + std::to_string(i) + " = loc(\"model.py\":" + std::to_string(i) + ":7)\n";
  return text;
}

// Layers of 16 operations each, as JAX prints them.
std::string layers(int n) {
  const std::string x = "tensor<16x32xf32>", turned = "tensor<32x16xf32>", flat = "tensor<512xf32>",
                    rows = "tensor<16xf32>", one = "tensor<f32>";
  std::string text =
      "module @jit_model attributes {mhlo.num_partitions = 1 : i32} {\n"
      "  func.func public @main(%arg0: " +
      x + ", %arg1: tensor<32x32xf32>) -> (" + x + " {jax.result_info = \"result\"}) {\n";
  int values = 0, constants = 0;
  const auto line = [&](const std::string& name, const std::string& operation) {
    text += "    " + name + " = stablehlo." + operation + " loc(#loc" +
            std::to_string(values % 100) + ")\n";
    return name;
  };
  const auto value = [&](const std::string& operation) {
    return line("%" + std::to_string(values++), operation);
  };
  const auto zero = [&] {
    return line("%cst_" + std::to_string(constants++), "constant dense<0.000000e+00> : " + one);
  };
  const auto turn = [](const std::string& from, const std::string& to) {
    return " : (" + from + ") -> " + to;
  };
  std::string last = "%arg0";
  for (int i = 0; i < n; ++i) {
    const std::string product =
        value("dot_general " + last +
              ", %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, "
              "DEFAULT] : (" +
              x + ", tensor<32x32xf32>) -> " + x);
    const std::string zeros = value("broadcast_in_dim " + zero() + ", dims = []" + turn(one, x));
    const std::string greater = value("compare  GT, " + product + ", " + zeros + ",  FLOAT : (" +
                                      x + ", " + x + ") -> tensor<16x32xi1>");
    const std::string chosen =
        value("select " + greater + ", " + product + ", " + last + " : tensor<16x32xi1>, " + x);
    const std::string sums = value("reduce(" + chosen + " init: " + zero() +
                                   ") applies stablehlo.add across dimensions = [1] : (" + x +
                                   ", " + one + ") -> " + rows);
    const std::string divisors = value("broadcast_in_dim " + sums + ", dims = [0]" + turn(rows, x));
    const std::string quotient = value("divide " + chosen + ", " + divisors + " : " + x);
    const std::string transposed =
        value("transpose " + quotient + ", dims = [1, 0]" + turn(x, turned));
    const std::string back = value("transpose " + transposed + ", dims = [1, 0]" + turn(turned, x));
    const std::string powers = value("exponential " + back + " : " + x);
    const std::string in_one = value("reshape " + powers + turn(x, flat));
    const std::string apart = value("reshape " + in_one + turn(flat, x));
    const std::string least = value("minimum " + apart + ", " + zeros + " : " + x);
    last = value("subtract " + least + ", " + last + " : " + x);
  }
  text += "    return " + last + " : " + x + " loc(#loc0)\n  } loc(#loc0)\n} loc(#loc0)\n";
  for (int i = 0; i < 100; ++i)
    text += "#loc" + std::to_string(i) +
            " = loc(\"jit(model)/dot_general\"(\"model.py\":" + std::to_string(i) + ":7))\n";
  return text;
}

std::string constants(std::size_t count, bool hexadecimal) {
  const std::string type = "tensor<" + std::to_string(count) + "xf32>";
  std::string data;
  for (std::size_t i = 0; i < count; ++i)
    data += hexadecimal ? "0000803F" : (i ? ", " : "") + std::to_string(0.001 * double(i % 7919));
  data = hexadecimal ? "\"0x" + data + "\"" : "[" + data + "]";
  return "func.func public @main() -> " + type + " {\n  %0 = stablehlo.constant dense<" + data +
         "> : " + type + "\n  return %0 : " + type + "\n}\n";
}

void text(const std::string& what, const std::string& module) {
  report(what, module.size(), seconds([&] { ts::load_stablehlo_text(module); }));
}

}  // namespace

int main(int count, char** words) {
  text("text, 81,000 operations", operations(81000));
  text("text, 81,000 operations, generic form", generic_operations(81000, false));
  text("text, 81,000 operations with places", generic_operations(81000, true));
  text("text, 80,000 operations of 5,000 layers", layers(5000));
  text("text, 500,000 numbers", constants(500000, false));
  text("text, 4 M numbers in hexadecimal digits", constants(4000000, true));
  std::string written;
  const auto deep = [](ts::Array x) {
    for (int i = 0; i < 5000; ++i) x = ts::sin(x) * 2 + x;
    return x;
  };
  const double s = seconds([&] { written = ts::stablehlo_text(deep, ts::ones({4, 8})); });
  report("traced and written, 15,000 operations", written.size(), s);
  for (int i = 1; i < count; ++i) {
    std::ifstream in(words[i], std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    report(words[i], bytes.size(), seconds([&] { ts::load_stablehlo(words[i]); }));
  }
}
