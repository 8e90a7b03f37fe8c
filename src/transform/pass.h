// The one door that program passes go through.
//
// A pass is a function from a program to a program that computes the same outputs. The door times
// it, leaves it out where the environment says so (TESSERA_DISABLE_PASSES=cse,fold), writes the
// program before and after to a directory (TESSERA_DUMP_PASSES=dir: 0001-cse-before.txt and so on),
// and in builds with TESSERA_VERIFY_PASSES verifies the result.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0 {

struct Pass {
  const char* name;
  /// May give back what it got. Sees one level: `run_pass` takes it through nested programs,
  /// innermost first.
  ProgramPtr (*run)(const ProgramPtr& p);
};

ProgramPtr run_pass(const Pass& pass, const ProgramPtr& p);

/// What each pass has taken in this process, in order of first use. Thread-safe.
struct PassTime {
  std::string name;
  std::int64_t runs = 0;
  double seconds = 0;
};
std::vector<PassTime> pass_times();

}  // namespace tessera::inline v0
