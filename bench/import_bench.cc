// How fast modules are read: a text of many operations, one of many numbers, their artifacts where
// files are named, and how fast a program is written.
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

// The least of five runs.
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
