// Virtual CPU devices, of this process and of those that run with it.
#pragma once

#include "base/message.h"

#include <cstdint>
#include <vector>

namespace tessera::inline v0::runtime {

/// Of all processes: TESSERA_DEVICES, or one a core of this machine and one a process at least;
/// set_device_count changes it. The first question joins the processes that were started together.
int device_count();
/// Grows at any time; shrinks while no array lives on the devices that go, else DeviceError that
/// says how many do. With several processes, each has as many, and the number stays once there is
/// an array on several devices.
void set_device_count(int n, const SourceLoc& loc = {});
/// Devices of this process: from the first on, so many.
int first_local_device();
int local_device_count();
inline bool is_local(int device) {
  return device >= first_local_device() && device < first_local_device() + local_device_count();
}
int process_of(int device);
/// The owners of devices stay as they are from here on.
void settle_devices();

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
