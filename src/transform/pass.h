// The one door that passes go through, those of simplify and those of the planner.
//
// The door times a pass, leaves it out where the environment says so (TESSERA_DISABLE_PASSES=cse,
// fold), writes the program before and after to a directory (TESSERA_DUMP_PASSES=dir:
// 0001-cse-before.txt and so on), and in builds with TESSERA_VERIFY_PASSES verifies the result.
#pragma once

#include "ir/program.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// A pass from a program to a program that computes the same outputs.
struct Pass {
  const char* name;
  /// May give back what it got. Sees one level: `run_pass` takes it through nested programs,
  /// innermost first.
  ProgramPtr (*run)(const ProgramPtr& p);
};

ProgramPtr run_pass(const Pass& pass, const ProgramPtr& p);

/// One run of a pass of another form: made where it begins, told what came of it where it ends.
class PassRun {
 public:
  PassRun(const char* name, const Program& before);
  PassRun(const PassRun&) = delete;
  PassRun& operator=(const PassRun&) = delete;

  /// Whether it is left out; then nothing else is asked of it.
  bool off() const { return off_; }
  /// Another program.
  void gave(const Program& after);
  /// What it got, or what is no program; the text is made where somebody wants it.
  void gave(const std::function<std::string()>& text);

 private:
  void stop();

  const char* name_;
  bool off_;
  int number_ = 0;  // of the dump; 0: there is none
  std::string directory_;
  std::chrono::steady_clock::time_point start_;
};

/// What each pass has taken in this process, in order of first use. Thread-safe.
struct PassTime {
  std::string name;
  std::int64_t runs = 0;
  double seconds = 0;
};
std::vector<PassTime> pass_times();

}  // namespace tessera::inline v0
