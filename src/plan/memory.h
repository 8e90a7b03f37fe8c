// Temporaries of a device, as the runtime's planner lays them out.
#pragma once

#include "plan/divided.h"

namespace tessera::inline v0::plans {

struct DeviceMemory {
  std::int64_t bytes = 0;
  std::vector<PlannedStep> steps;
};
DeviceMemory memory_of(const Divided& divided);

}  // namespace tessera::inline v0::plans
