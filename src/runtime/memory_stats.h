// The memory that arrays take on a device.
#pragma once

#include <cstdint>

namespace tessera::inline v0::runtime {

struct MemoryStats {
  std::int64_t live = 0;  // bytes, as if each device stored its own copy
  std::int64_t peak = 0;
};

}  // namespace tessera::inline v0::runtime
