// Divides a program between a platform and the host, and between lists of devices.
//
// A platform has no functions for some ops: calls of the host (callbacks, prints, checks), and
// factorisations for which it has no library. The program is split around them, they run on the
// host, and values are transferred at the boundaries. It is also split between maps over different
// devices, because a module has one list of devices.
#pragma once

#include "ir/program.h"
#include "stablehlo/emit/target.h"

#include <string>
#include <vector>

namespace tessera::inline v0::platforms {

/// Equations that run in one place, as a separate program. Its inputs and outputs are these
/// variables of the whole program; the part computes its outputs, which are listed once each.
struct Part {
  bool on_host = false;
  ProgramPtr program;
  std::vector<Var> inputs, outputs;
};

/// Where factorisations run for which the platform has no library.
enum class WithoutLibrary {
  host,   // they run on the host
  loops,  // the platform runs them as loops, if they have this form
};

/// Whether a platform with this target can run the equation with everything nested in it.
bool can_run(const Equation& eqn, const Program& p, const stablehlo::Target& target,
             WithoutLibrary without = WithoutLibrary::host);

/// The parts in the order in which they run. There is one part if the platform can run everything.
/// Otherwise there are as few as the order of the values allows; calls with side effects keep their
/// order.
std::vector<Part> parts_of(const ProgramPtr& p, const stablehlo::Target& target,
                           WithoutLibrary without = WithoutLibrary::host);

/// The same program with loops instead of the factorisations for which the target has no library,
/// and the ops that are written so, each once. Returns `p` itself if there is none.
struct WithLoops {
  ProgramPtr program;
  std::vector<std::string> ops;
};
WithLoops with_loops(const ProgramPtr& p, const stablehlo::Target& target,
                     const ops::LoopOptions& options);

}  // namespace tessera::inline v0::platforms
