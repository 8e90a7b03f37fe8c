// The memory plan of a device: its temporaries, and what its kernels read and write.
#pragma once

#include "explain/program_on_mesh.h"

namespace tessera::inline v0::explain {

struct DeviceMemory {
  std::int64_t bytes = 0;
  std::int64_t donated = 0;  // bytes of results that reuse donated arguments
  double traffic = 0;        // bytes that steps read and write, as in Plan::memory_traffic
  std::vector<PlannedStep> steps;
  std::vector<PlannedLive> peak;  // as in Plan
};
/// As the CPU's planner assigns it, with memory per device. `donated`: by input; empty: none. Of
/// several branches, the costliest by the speeds in `options` counts.
DeviceMemory memory_of(const ProgramOnMesh& divided, const std::vector<bool>& donated = {},
                       const PlanOptions& options = {});
/// As the platform's planner assigns it; memory_of if the platform is null or has no planner.
DeviceMemory memory_on(const runtime::Backend* platform, const ProgramOnMesh& divided,
                       const std::vector<bool>& donated = {}, const PlanOptions& options = {});

}  // namespace tessera::inline v0::explain
