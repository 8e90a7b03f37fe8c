// Virtual CPU devices of this process.
#pragma once

#include "base/message.h"

#include <cstdint>
#include <vector>

namespace tessera::inline v0::runtime {

/// TESSERA_DEVICES, or one a core; set_device_count changes it.
int device_count();
/// Grows at any time; shrinks while no array lives on the devices that go, else DeviceError that
/// says how many do.
void set_device_count(int n, const SourceLoc& loc = {});

struct MemoryStats {
  std::int64_t live = 0;  // bytes, as if the device had its own copy of everything
  std::int64_t peak = 0;
};
MemoryStats memory_stats(int device);
/// Bytes that the process really holds in array memory, and the most it ever held.
MemoryStats physical_memory_stats();
void reset_peak_memory();

/// Whether TESSERA_ISOLATE=1: every device computes and stores its own.
bool isolated();
void set_isolated(bool on);  // for tests and measurements; programs compiled before keep theirs

/// Workers of the pool.
int worker_count();

}  // namespace tessera::inline v0::runtime
