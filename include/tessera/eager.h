// When operations outside of jit run.
//
//   ts::set_eager(ts::Eager::gathered);  // on the CPU, too
//   Array y = ts::exp(x) * 2 + 1;        // recorded
//   float first = y[0].item<float>();    // compiled as one program, and run
//
// On another platform than the CPU, compiling and calling a program for each operation takes far
// longer than the operation. So operations are gathered: an operation checks its operands and
// records itself, and its result is an array like any other. When a value is read, everything that
// was gathered is compiled as one program and runs. The program is cached by its content, with
// numbers as arguments, so a loop that gathers the same operations again does not compile again.
#pragma once

#include <tessera/config.h>

namespace tessera::inline v0 {

/// When operations outside of jit and the other transformations run.
enum class Eager {
  by_platform,  // at once on the CPU, gathered on other platforms; the default
  gathered,     // gathered on all platforms
  at_once,      // each by itself, when it is called, on all platforms
};

/// Sets when operations run that begin from now on, on all threads. TESSERA_EAGER=gathered or
/// TESSERA_EAGER=at_once in the environment is the setting of a process that does not call this
/// function.
///
/// Gathered operations run when a value of one of them is read, printed, waited for or placed
/// elsewhere, or is an argument of a compiled function; before a call that takes an argument's
/// memory; and in between, when there are many of them or when they keep much memory that nothing
/// else needs. Results that no array stands for any more are not computed. Mistakes in dtypes,
/// shapes and places are errors of the operation, as without gathering. What fails later, such as a
/// device without memory, is an error of the read. Functions that call the host, such as
/// debug::print, and operations on arrays over several devices run at once. Settings of programs
/// that are compiled from now on, such as set_matmul_precision, apply to what has not run yet.
TESSERA_API void set_eager(Eager when);
/// Returns that setting.
TESSERA_API Eager eager();

}  // namespace tessera::inline v0
