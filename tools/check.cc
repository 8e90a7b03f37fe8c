// `tessera check`: conformance files, counted by primitive.
#include "command.h"
#include "output.h"

#include <tessera/stablehlo.h>

#include <cstdlib>
#include <map>

namespace command {

namespace {

// Returns "cumsum" for "folder/cumsum_int8_8_9.mlir": the part before the first dtype or digit.
std::string category_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string name = slash == path.npos ? path : path.substr(slash + 1);
  name.resize(std::min(name.find('.'), name.size()));
  static constexpr const char* kDTypes[] = {"bool", "int", "uint", "float", "bfloat", "complex"};
  for (std::size_t at = name.find('_'); at != name.npos; at = name.find('_', at + 1)) {
    bool ends = at + 1 == name.size() || (name[at + 1] >= '0' && name[at + 1] <= '9');
    for (const char* d : kDTypes) {
      const std::size_t n = std::string(d).size();
      const char next = at + 1 + n < name.size() ? name[at + 1 + n] : '_';
      ends |= name.compare(at + 1, n, d) == 0 && (next == '_' || (next >= '0' && next <= '9'));
    }
    if (ends) return name.substr(0, at);
  }
  return name;
}

struct Count {
  std::size_t passed = 0, failed = 0, refused = 0;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

int check(const Words& arguments) {
  bool verbose = false;
  const Words files =
      read_options("check", arguments, {{"--verbose", nullptr, &verbose}, {"--evaluate", nullptr}});
  if (files.empty()) throw Unusable{"check takes files"};
  // The number of devices that are available; a module for several devices declares how many it
  // needs.
  constexpr bool kKeepWhatIsSet = false;
  setenv("TESSERA_DEVICES", "8", kKeepWhatIsSet);
  std::map<std::string, Count> categories;
  Count all;
  for (const std::string& file : files) {
    Count& category = categories[category_of(file)];
    for (const tessera::StableHloCheck& c : tessera::check_stablehlo(file)) {
      using Check = tessera::StableHloCheck;
      const char* word = c.outcome == Check::passed   ? "passed"
                         : c.outcome == Check::failed ? "FAILED"
                                                      : "refused";
      for (Count* n : {&category, &all})
        ++(c.outcome == Check::passed   ? n->passed
           : c.outcome == Check::failed ? n->failed
                                        : n->refused);
      if (c.outcome != Check::passed)
        sayf("%s %s\n", word, (verbose ? c.message : first_line(c.message)).c_str());
      else if (verbose)
        sayf("%s %s: %zu checks\n", word, name_text(c.module).c_str(), c.checks);
    }
  }
  sayf("%-32s %7s %7s %8s\n", "", "passed", "failed", "refused");
  for (const auto& [name, n] : categories)
    sayf("%-32s %7zu %7zu %8zu\n", name_text(name).c_str(), n.passed, n.failed, n.refused);
  sayf("%-32s %7zu %7zu %8zu\n", "all", all.passed, all.failed, all.refused);
  return all.failed || all.refused ? kWrong : kWell;
}

}  // namespace command
