// Virtual CPU devices of this process and of the processes that run with it.
#pragma once

#include "base/message.h"
#include "runtime/memory_stats.h"

#include <cstdint>
#include <vector>

namespace tessera::inline v0::runtime {

/// The number of devices of all processes: TESSERA_DEVICES, or else one per core of this machine
/// and at least one per process; set_device_count changes it. The first call joins the processes
/// that were started together.
int device_count();
/// Increasing the number is always possible. Reducing it throws DeviceError, with their number, if
/// arrays live on the removed devices. With several processes, each has equally many devices, and
/// the number is fixed once there is an array on several devices.
void set_device_count(int n, const SourceLoc& loc = {});
/// This process's devices: local_device_count() of them, starting at first_local_device().
int first_local_device();
int local_device_count();
inline bool is_local(int device) {
  return device >= first_local_device() && device < first_local_device() + local_device_count();
}
int process_of(int device);
/// Fixes the assignment of devices to processes.
void settle_devices();

MemoryStats memory_stats(int device);
/// The bytes that the process actually holds in array memory, and their maximum.
MemoryStats physical_memory_stats();
void reset_peak_memory();

/// Whether TESSERA_ISOLATE=1: every device computes and stores its own values.
bool isolated();
void set_isolated(bool on);  // for tests and measurements; does not affect programs compiled before

/// The number of workers in the pool.
int worker_count();

}  // namespace tessera::inline v0::runtime
