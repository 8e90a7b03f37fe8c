// The program of docs/how_it_works.md: one training step, as each part of Tessera sees it. The
// settings below make the compiler write down what it does; scripts/lessons draws the pictures of
// the page from that (docs/site/journey.py).
#include "lessons/lesson.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

//: step
Array loss(Array w, Array x, Array y) {
  Array guess = ts::tanh(x.dot(w));
  return ts::mean(ts::square(guess - y));
}

Array step(Array w, Array x, Array y) { return w - 0.1 * ts::grad(loss)(w, x, y); }
//:

namespace {

constexpr const char* kWrittenDown = "dumps.txt";

/// Sends what the compiler writes down to files of this folder. The instruction set and the number
/// of threads are fixed, so that every processor with AVX2 gives the same texts.
void write_everything_down() {
  std::filesystem::create_directory("passes");
  for (auto [name, value] : {std::pair("TESSERA_DUMP_PASSES", "passes"),
                             {"TESSERA_DUMP_LOOPS", "1"},
                             {"TESSERA_DUMP_IR", "1"},
                             {"TESSERA_CACHE", "off"},
                             {"TESSERA_ISA", "avx2"},
                             {"TESSERA_WORKERS", "1"}})
    setenv(name, value, 1);
  if (!std::freopen(kWrittenDown, "w", stderr)) std::exit(1);
  std::setvbuf(stderr, nullptr, _IONBF, 0);
}

/// Returns the first text in the file that reaches from a line that begins with `begin` to the next
/// line `end`, has `with` and lacks `without`.
std::string written_down(const std::string& begin, const std::string& end, const std::string& with,
                         const std::string& without) {
  std::ifstream file(kWrittenDown);
  std::string found;
  for (std::string line; std::getline(file, line);) {
    if (found.empty() && !line.starts_with(begin)) continue;
    if (!found.empty() && line == end) {
      if (found.find(with) != std::string::npos && found.find(without) == std::string::npos)
        return found;
      found.clear();
      continue;
    }
    found += line + "\n";
  }
  return "";
}

}  // namespace

int main() {
  write_everything_down();

  part("call");
  ts::set_device_count(4);
  ts::Mesh mesh({{"data", 4}});
  auto fast = ts::jit(step, {.mesh = mesh,
                             .in_shardings = {ts::P(), ts::P("data"), ts::P("data")},
                             .out_shardings = ts::P()});
  Array w = ts::zeros({64, 8});
  Array x = ts::random::normal(ts::random::key(0), {512, 64});
  Array y = ts::random::uniform(ts::random::key(1), {512, 8});
  w = fast(w, x, y);
  std::cout << ts::to_string(w.shape()) << "\n";

  part("trace");
  auto lowered = fast.lower(w, x, y);
  std::cout << lowered.ir();

  part("partition");
  std::cout << lowered.partitioned();

  part("tape");
  std::cout << lowered.schedule();

  part("loops");
  std::cout << written_down("kernel tanh", "", "tanh", "threefry");

  part("machine");
  std::string code = written_down("define ", "}", "fsub", "fmul") + "}\n";
  // The name of a kernel is a hash of its program.
  const std::size_t name = code.find('@'), bracket = code.find('(');
  std::cout << code.replace(name, bracket - name, "@kernel");
}
