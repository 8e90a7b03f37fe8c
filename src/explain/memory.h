// What the runtime's planner says of a device: its temporaries, and what its kernels read and write.
#pragma once

#include "explain/program_on_mesh.h"

namespace tessera::inline v0::explain {

struct DeviceMemory {
  std::int64_t bytes = 0;
  std::int64_t donated = 0;  // of results that lie where donated arguments did
  double traffic = 0;        // bytes that steps read and write, as Plan::memory_traffic
  std::vector<PlannedStep> steps;
  std::vector<PlannedLive> peak;  // as Plan's
};
/// `donated`: by input; none: nothing is. By the speeds in `options` one of several branches is the
/// costliest.
DeviceMemory memory_of(const ProgramOnMesh& divided, const std::vector<bool>& donated = {},
                       const PlanOptions& options = {});

}  // namespace tessera::inline v0::explain
