// Temporaries of a device, as the runtime's planner lays them out.
#pragma once

#include "plan/divided.h"

namespace tessera::inline v0::plans {

struct DeviceMemory {
  std::int64_t bytes = 0;
  std::int64_t donated = 0;  // of results that lie where donated arguments did
  std::vector<PlannedStep> steps;
};
/// `donated`: by input; none: nothing is.
DeviceMemory memory_of(const Divided& divided, const std::vector<bool>& donated = {});

}  // namespace tessera::inline v0::plans
