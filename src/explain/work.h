// The work of a device's program, equation by equation: operations, memory traffic, collectives and
// time.
#pragma once

#include "explain/program_on_mesh.h"

namespace tessera::inline v0::explain {

/// A value that a collective transfers between devices.
struct Moved {
  const Equation* equation = nullptr;  // of the device's program
  Type operand;
  std::int64_t bytes = 0;  // received each time
  /// Its position in the program: the numbers of the enclosing equations and their nested programs,
  /// then of its own equation. Set only if spans are requested.
  std::vector<std::uint32_t> place = {};
};

/// A collective of the device's program, or several that one message combines.
struct Emitted {
  std::vector<Moved> values;
  spmd::MoveKind kind = spmd::MoveKind::permute;
  std::vector<std::string> axes;
  std::int64_t bytes = 0;  // of all values
  double seconds = 0;      // each time
  std::int64_t times = 1;
  bool in_while = false, in_branch = false;
};

/// The total traffic along one axis of the mesh.
struct AlongAxis {
  double bytes = 0;  // received
  double seconds = 0;
};

struct Work {
  double flops = 0, traffic = 0, compute_seconds = 0, communication_seconds = 0;
  std::int64_t moved = 0;        // bytes over all collectives
  std::vector<AlongAxis> along;  // by axis
  std::vector<Emitted> collectives;
  std::vector<PlannedSpan> spans;
};

/// Sums up a program. A loop's body is walked once and multiplied by its number of iterations,
/// which counts as one for a while loop. Of several branches, the costliest is counted as work, but
/// the collectives of all are listed. Consecutive computation from the same source line forms one
/// span. `spans`: whether to record spans.
Work work_of(const ProgramOnMesh& divided, const PlanOptions& options, bool spans);

}  // namespace tessera::inline v0::explain
