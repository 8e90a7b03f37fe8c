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
/// Plans the memory of one device in place of memory_of, for a platform (runtime/backend.h).
class MemoryPlanner {
 public:
  virtual ~MemoryPlanner() = default;
  /// `donated` is by input, and empty if there are none. What the planner cannot foresee stays
  /// empty.
  virtual DeviceMemory plan_memory(const ProgramOnMesh& program, const std::vector<bool>& donated,
                                   const PlanOptions& options) const = 0;
};
/// By this planner; memory_of if it is null.
DeviceMemory memory_by(const MemoryPlanner* planner, const ProgramOnMesh& divided,
                       const std::vector<bool>& donated = {}, const PlanOptions& options = {});

}  // namespace tessera::inline v0::explain
