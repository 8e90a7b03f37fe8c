// Measures how far each elementwise function is from the exact result, in units in the last place,
// and prints the rows of the table in docs/accuracy.md.
//
//   accuracy [--points N] [--every N] [--exact FOLDER] [function...]
//
// A row is the worst case over the processor's vector instruction sets (TESSERA_ISA) and the
// evaluator. Each is measured in a separate process, because a process selects its instruction set
// once. `--every 1` goes through all float32 operands. `--exact` names the folder that
// tests/accuracy/make_exact.py wrote, for functions whose exact results are stored. `--raw` prints
// the measurements of one process.
#include "../tests/accuracy/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using accuracy::Worst;

struct Options {
  accuracy::Sample sample{1 << 21, 16};
  bool raw = false;
  std::string exact;
  std::vector<std::string> names;
};

Options parsed(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--raw")
      o.raw = true;
    else if (a == "--points" && i + 1 < argc)
      o.sample.points = std::atoll(argv[++i]);
    else if (a == "--every" && i + 1 < argc)
      o.sample.every = std::atoll(argv[++i]);
    else if (a == "--exact" && i + 1 < argc)
      o.exact = argv[++i];
    else
      o.names.push_back(a);
  }
  return o;
}

bool asked(const Options& o, const std::string& name) {
  return o.names.empty() || std::find(o.names.begin(), o.names.end(), name) != o.names.end();
}

// The prefix of the names of functions of complex numbers.
const std::string kComplex = "complex ";

void print_raw(const std::string& name, const std::string& dtype, const Worst& w) {
  std::printf("%s;%s;%.17g;%.17g;%.17g;%.17g;%.17g;%.17g\n", name.c_str(), dtype.c_str(), w.ulps,
              w.x, w.y, w.got, w.exact, w.z);
  std::fflush(stdout);
}

void measure_all(const Options& o) {
  for (const accuracy::Function& f : accuracy::functions())
    if (asked(o, f.name))
      for (tessera::DType d : accuracy::kDTypes)
        print_raw(f.name, std::string(name_of(d)), accuracy::measure(f, d, o.sample));
  for (const accuracy::Stored& f : accuracy::stored_functions())
    if (asked(o, f.name))
      for (tessera::DType d : accuracy::kDTypes)
        print_raw(f.name, std::string(name_of(d)), accuracy::measure(f, d, o.exact));
  for (const accuracy::OfComplex& f : accuracy::complex_functions())
    if (asked(o, f.name) || asked(o, kComplex + f.name))
      for (tessera::DType d : accuracy::kComplexDTypes) {
        const accuracy::WorstParts w = accuracy::measure(f, d, o.exact);
        const std::string dtype(name_of(d)), name = kComplex + f.name;
        print_raw(name, dtype + " real", {.ulps = w.real});
        print_raw(name, dtype + " imag", {.ulps = w.imag});
        print_raw(name, dtype + " whole", {.ulps = w.whole});
        for (const std::string& at : {w.real_at, w.imag_at, w.whole_at})
          std::fprintf(stderr, "%s %s\n", f.name.c_str(), at.c_str());
      }
}

struct Row {
  Worst worst;
  std::string kind;  // of vector instructions
};
using Table = std::map<std::string, std::map<std::string, Row>>;  // by function and dtype

// Adds the output of a process of this program that runs with `environment`.
void collect(Table& table, const std::string& kind, const std::string& environment,
             const std::string& command) {
  FILE* pipe = ::popen((environment + " " + command + " --raw").c_str(), "r");
  if (!pipe) throw std::runtime_error("no process for " + kind);
  char line[1024];
  while (std::fgets(line, sizeof line, pipe)) {
    std::string text = line, cells[8];
    std::size_t at = 0;
    for (std::string& c : cells) {
      std::size_t end = std::min(text.find_first_of(";\n", at), text.size());
      c = text.substr(at, end - at);
      at = end + 1;
    }
    auto number = [&](int i) { return std::strtod(cells[i].c_str(), nullptr); };
    const Worst w{number(2), number(3), number(4), number(5), number(6), number(7)};
    auto [row, is_new] = table[cells[0]].try_emplace(cells[1], Row{w, kind});
    if (w.ulps > row->second.worst.ulps) row->second = {w, kind};
    std::fprintf(stderr, "%-10s %s", kind.c_str(), line);
  }
  if (::pclose(pipe) != 0) throw std::runtime_error("the process for " + kind + " failed");
}

std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

// The bound, rounded up to three digits.
std::string bound_text(double ulps) {
  if (ulps == 0 || !std::isfinite(ulps)) return ulps == 0 ? "0" : "inf";
  const double unit = std::pow(10, std::floor(std::log10(ulps)) - 2);
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", std::ceil(ulps / unit) * unit);
  return text;
}

void print_row(const Table& table, const std::string& name, int operands,
               const std::string& tails) {
  auto row = table.find(name);
  if (row == table.end()) return;
  std::printf("| `%s` |", name.c_str());
  for (tessera::DType d : accuracy::kDTypes)
    std::printf(" %s |", bound_text(row->second.at(std::string(name_of(d))).worst.ulps).c_str());
  const auto& [worst, kind] = row->second.at("float32");
  std::string where;
  const double at[] = {worst.x, worst.y, worst.z};
  if (worst.ulps > 0) {
    for (int i = 0; i < operands; ++i) where += (i ? ", " : "") + number_text(at[i]);
    where += " (" + kind + ")";
  }
  std::printf(" %s | %s |\n", where.c_str(), tails.c_str());
}

void print_complex_row(const Table& table, const accuracy::OfComplex& f) {
  const auto row = table.find(kComplex + f.name);
  if (row == table.end()) return;
  std::printf("| `%s` |", f.name.c_str());
  for (tessera::DType d : accuracy::kComplexDTypes)
    for (const char* part : {" real", " imag", " whole"}) {
      const double ulps = row->second.at(std::string(name_of(d)) + part).worst.ulps;
      const bool none = f.is_real && part == std::string(" imag");
      std::printf(" %s |", none ? "" : bound_text(ulps).c_str());
    }
  std::printf(" %s |\n", f.ends.c_str());
}

void print_table(const Table& table) {
  for (const accuracy::Function& f : accuracy::functions())
    print_row(table, f.name, f.operands, f.tails);
  for (const accuracy::Stored& f : accuracy::stored_functions())
    print_row(table, f.name, f.operands, f.tails);
  for (const accuracy::OfComplex& f : accuracy::complex_functions()) print_complex_row(table, f);
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parsed(argc, argv);
  if (o.raw) {
    measure_all(o);
    return 0;
  }
  std::string command = argv[0];
  for (int i = 1; i < argc; ++i) command += " '" + std::string(argv[i]) + "'";
  Table table;
  collect(table, "as is", "TESSERA_CACHE=off", command);
  collect(table, "AVX2", "TESSERA_ISA=avx2", command);
  collect(table, "SSE4", "TESSERA_ISA=sse4", command);
  collect(table, "evaluator", "TESSERA_EVALUATE=1", command + " --points 65536 --every 65537");
  print_table(table);
}
