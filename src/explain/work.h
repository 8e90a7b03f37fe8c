// What a device's program does, equation by equation: operations, memory, collectives, time.
#pragma once

#include "explain/program_on_mesh.h"

namespace tessera::inline v0::explain {

/// A value that a collective brings from device to device.
struct Moved {
  const Equation* equation = nullptr;  // of the device's program
  Type operand;
  std::int64_t bytes = 0;  // received each time
  /// Where it stands in the program: the number of its equation, behind those of the equations that
  /// it is nested in and their programs'. Only where spans are wanted.
  std::vector<std::uint32_t> place = {};
};

/// A collective as the device's program has it, or several that one message carries.
struct Emitted {
  std::vector<Moved> values;
  spmd::MoveKind kind = spmd::MoveKind::permute;
  std::vector<std::string> axes;
  std::int64_t bytes = 0;  // of all of them
  double seconds = 0;      // each time
  std::int64_t times = 1;
  bool in_while = false, in_branch = false;
};

/// What all collectives do along one axis of the mesh.
struct AlongAxis {
  double bytes = 0;  // received
  double seconds = 0;
};

struct Work {
  double flops = 0, traffic = 0, compute_seconds = 0, communication_seconds = 0;
  std::int64_t moved = 0;        // bytes, all collectives
  std::vector<AlongAxis> along;  // by axis
  std::vector<Emitted> collectives;
  std::vector<PlannedSpan> spans;
};

/// A loop's body is walked once and counts for all its turns, that of a while loop for one; of
/// branches the costliest is worked, and the collectives of all count. Compute that follows on
/// compute of the same line is one span. `spans`: whether they are wanted.
Work work_of(const ProgramOnMesh& divided, const PlanOptions& options, bool spans);

}  // namespace tessera::inline v0::explain
