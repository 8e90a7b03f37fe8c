// Runs every pass, both those of simplify and those of the planner.
//
// Each run of a pass is timed, skipped if disabled (TESSERA_DISABLE_PASSES=cse,fold), dumped to a
// directory as the program before and after (TESSERA_DUMP_PASSES=dir: 0001-cse-before.txt and so
// on), and verified in builds with TESSERA_VERIFY_PASSES.
#pragma once

#include "ir/program.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// A pass maps a program to a program that computes the same outputs.
struct Pass {
  const char* name;
  /// May return its argument. Sees one level: `run_pass` applies it to nested programs first,
  /// innermost first.
  ProgramPtr (*run)(const ProgramPtr& p);
};

ProgramPtr run_pass(const Pass& pass, const ProgramPtr& p);

/// One run of a pass that has another signature: construct it when the pass begins, and call `gave`
/// when it ends.
class PassRun {
 public:
  PassRun(const char* name, const Program& before);
  PassRun(const PassRun&) = delete;
  PassRun& operator=(const PassRun&) = delete;

  /// Whether the pass is disabled; then nothing else may be called.
  bool off() const { return off_; }
  /// The pass returned another program.
  void gave(const Program& after);
  /// The pass returned its argument, or something other than a program; `text` is called only for a
  /// dump.
  void gave(const std::function<std::string()>& text);

 private:
  void stop();

  const char* name_;
  bool off_;
  int number_ = 0;  // number of the dump; 0: no dump
  std::string directory_;
  std::chrono::steady_clock::time_point start_;
};

/// The accumulated time of each pass in this process, in order of first use. Thread-safe.
struct PassTime {
  std::string name;
  std::int64_t runs = 0;
  double seconds = 0;
};
std::vector<PassTime> pass_times();

}  // namespace tessera::inline v0
