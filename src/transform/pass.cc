#include "transform/pass.h"

#include "base/process.h"
#include "base/settings.h"
#include "transform/map_nested.h"

#include <atomic>
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
          const std::string& text) {
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%04d-", number);
  // A dump that cannot be written must not break the program that asked for it.
  std::ofstream(directory + "/" + prefix + pass + "-" + when + ".txt") << text << "\n";
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

PassRun::PassRun(const char* name, const Program& before) : name_(name), off_(disabled(name)) {
  if (off_) return;
  directory_ = settings::text("TESSERA_DUMP_PASSES");
  static std::atomic<int> dumps{0};
  if (!directory_.empty()) {
    number_ = ++dumps;
    dump(directory_, number_, name_, "before", to_string(before));
  }
  start_ = std::chrono::steady_clock::now();
}

void PassRun::stop() {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  Times& t = times();
  Locked guard(t.lock);
  PassTime* entry = nullptr;
  for (PassTime& e : t.entries)
    if (e.name == name_) entry = &e;
  if (!entry) entry = &t.entries.emplace_back(PassTime{name_});
  ++entry->runs;
  entry->seconds += seconds;
}

void PassRun::gave(const Program& after) {
  stop();
#ifdef TESSERA_VERIFY_PASSES
  verify(after, name_);
#endif
  if (number_) dump(directory_, number_, name_, "after", to_string(after));
}

void PassRun::gave(const std::function<std::string()>& text) {
  stop();
  if (number_) dump(directory_, number_, name_, "after", text());
}

ProgramPtr run_pass(const Pass& pass, const ProgramPtr& p) {
  PassRun run(pass.name, *p);
  if (run.off()) return p;
  ProgramPtr result = run_nested(pass, p);
  if (result == p)
    run.gave([&] { return to_string(*p); });
  else
    run.gave(*result);
  return result;
}

std::vector<PassTime> pass_times() {
  Times& t = times();
  Locked guard(t.lock);
  return t.entries;
}

}  // namespace tessera::inline v0
