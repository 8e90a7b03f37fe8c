// The memory that arrays use on a device, and the memory that programs will need.
#pragma once

#include <cstdint>

namespace tessera::inline v0::runtime {

struct MemoryStats {
  std::int64_t live = 0;  // bytes, as if each device stored its own copy
  std::int64_t peak = 0;
};

/// The memory of one device while it runs a program, as predicted by its platform, in bytes.
struct PlannedMemory {
  std::int64_t temporaries = 0;
  std::int64_t donated = 0;  // of results that reuse donated arguments
};

}  // namespace tessera::inline v0::runtime
