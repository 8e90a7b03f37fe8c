#include "transform/pass.h"

#include "base/process.h"
#include "base/settings.h"
#include "transform/map_nested.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <string_view>

namespace tessera::inline v0 {

namespace {

bool disabled(std::string_view name) {
  const std::string list = settings::text("TESSERA_DISABLE_PASSES");
  std::string_view rest = list;
  while (!rest.empty()) {
    std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == name) return true;
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return false;
}

void dump(const std::string& directory, int number, const char* pass, const char* when,
          const Program& p) {
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%04d-", number);
  // A dump that cannot be written must not break the program that asked for it.
  std::ofstream(directory + "/" + prefix + pass + "-" + when + ".txt") << to_string(p) << "\n";
}

struct Times {
  std::mutex lock;
  std::vector<PassTime> entries;
};
Times& times() {
  static Times* t = new Times;  // leaked: passes may run while statics are destroyed
  return *t;
}

ProgramPtr run_nested(const Pass& pass, const ProgramPtr& p) {
  return pass.run(map_nested(p, [&](const ProgramPtr& q) { return run_nested(pass, q); }));
}

}  // namespace

ProgramPtr run_pass(const Pass& pass, const ProgramPtr& p) {
  if (disabled(pass.name)) return p;
  static std::atomic<int> dumps{0};
  const std::string directory = settings::text("TESSERA_DUMP_PASSES");
  int number = directory.empty() ? 0 : ++dumps;
  if (number) dump(directory, number, pass.name, "before", *p);

  auto start = std::chrono::steady_clock::now();
  ProgramPtr result = run_nested(pass, p);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  {
    Times& t = times();
    Locked guard(t.lock);
    PassTime* entry = nullptr;
    for (PassTime& e : t.entries)
      if (e.name == pass.name) entry = &e;
    if (!entry) entry = &t.entries.emplace_back(PassTime{pass.name});
    ++entry->runs;
    entry->seconds += seconds;
  }
#ifdef TESSERA_VERIFY_PASSES
  if (result != p) verify(*result, pass.name);
#endif
  if (number) dump(directory, number, pass.name, "after", *result);
  return result;
}

std::vector<PassTime> pass_times() {
  Times& t = times();
  Locked guard(t.lock);
  return t.entries;
}

}  // namespace tessera::inline v0
