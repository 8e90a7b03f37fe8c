// The setting that decides when operations outside of jit run.
//
//   ts::set_eager(ts::Eager::gathered);  // on the CPU, too
//   Array y = ts::exp(x) * 2 + 1;        // recorded
//   float first = y[0].item<float>();    // compiled as one program, and run
//
// On platforms other than the CPU, compiling and calling a program for each operation takes far
// longer than the operation. Operations are therefore gathered there: an operation checks its
// operands and records itself, and its result is an array like any other. When a value is read,
// everything that was gathered is compiled as one program and runs. The program is cached by its
// content, with numbers as arguments, so a loop that gathers the same operations again does not
// compile again.
#pragma once

#include <tessera/config.h>

namespace tessera::inline v0 {

/// The moments at which operations outside of jit and the other transformations may run.
enum class Eager {
  by_platform,  // at once on the CPU, gathered on other platforms; the default
  gathered,     // gathered on all platforms
  at_once,      // each separately, when it is called, on all platforms
};

/// Sets, for all threads, when operations run that are called from now on. If a process does not
/// call this function, the environment variable TESSERA_EAGER is the setting: by_platform,
/// gathered or at_once.
///
/// Gathered operations run when the value of one of them is read, printed, waited for, moved to
/// another device or passed to a compiled function; before a call to which an argument is donated;
/// and earlier if there are many of them or if they keep much memory that nothing else needs.
/// Results that are no longer held by any array are not computed. Wrong dtypes, shapes and devices
/// are errors of the operation, as without gathering. A later failure, such as a device that runs
/// out of memory, is thrown when a value is read. Functions that call the host, such as
/// debug::print, and operations on arrays over several devices run at once. Settings for programs
/// that are compiled later, such as set_matmul_precision, also apply to operations that have not
/// run yet.
TESSERA_API void set_eager(Eager when);
/// Returns that setting.
TESSERA_API Eager eager();

}  // namespace tessera::inline v0
