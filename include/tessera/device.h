// Devices, the memory they use, and the placement of arrays on them.
//
// A device belongs to a platform. The CPU platform always exists and is the default for arrays and
// programs that are not placed elsewhere. A process has as many virtual CPU devices as
// TESSERA_DEVICES or set_device_count specifies, by default one per core. They share memory and a
// pool of one worker thread per core. Devices have no threads of their own, so it is fine to have
// more devices than cores. All functions here are safe to call from any thread.
//
// Exit: a process that returns from main or calls exit() on any thread first waits for the calls in
// progress. Arrays may still be used afterwards, by destructors of static objects and by threads
// that are still running; such work runs on the calling thread without compilation, and library
// routines are replaced by slow evaluation. quick_exit, abort and uncaught exceptions do not wait.
// After pthread_exit in main the other threads go on, and because this library and those it uses
// have threads that never end, one of the program's own threads must call exit().
//
// fork waits for the calls in progress on other threads and blocks new ones, so that the child has
// every result that its parent had requested. The child has no workers and computes on the calling
// thread. system() and posix_spawn do not wait.
#pragma once

#include <tessera/array.h>
#include <tessera/tree.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0 {

struct Device {
  int id = 0;  // unique within its platform
  /// The string lives as long as the process.
  std::string_view platform = "cpu";
  bool operator==(const Device&) const = default;
};
/// "CpuDevice(id=0)"
TESSERA_API std::string to_string(const Device& device);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Device& device);
/// "[CpuDevice(id=0), CpuDevice(id=1)]"
TESSERA_API std::ostream& operator<<(std::ostream& out, const std::vector<Device>& devices);

/// The devices of the CPU.
TESSERA_API std::vector<Device> devices();
/// The devices of the named platform. Throws DeviceError if the process has no such platform.
TESSERA_API std::vector<Device> devices(std::string_view platform,
                                        std::source_location loc = std::source_location::current());
TESSERA_API int device_count();
/// Sets the number of CPU devices, at least 1. It can always grow; shrinking throws DeviceError if
/// an array is on a device that would be removed.
TESSERA_API void set_device_count(int n,
                                  std::source_location loc = std::source_location::current());
/// Whether programs flush subnormal numbers to zero: those below 1.2e-38 in float32 and 2.2e-308 in
/// float64, which typically appear when gradients underflow and slow down many processors a
/// hundredfold. Applies to programs started after this call, from any thread, including everything
/// they call; the calling program's own threads keep their floating-point mode. Constant-folded
/// values are computed at compile time and keep their subnormals. Default: off, or the value of
/// TESSERA_FLUSH_DENORMAL.
TESSERA_API void set_flush_denormal(bool on);
TESSERA_API bool flush_denormal();
/// "cpu", the platform of everything that is not placed elsewhere.
TESSERA_API std::string_view default_backend();
/// "0.1.0"
TESSERA_API std::string_view version();

/// Bytes of arrays: `live` is the current amount, `peak` the maximum since the start of the process
/// or the last reset_peak_memory.
struct MemoryStats {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};
/// Logical bytes of one device, counted as if it held its own copy of everything placed on it.
TESSERA_API MemoryStats memory_stats(Device device,
                                     std::source_location loc = std::source_location::current());
/// Bytes that the process holds; memory shared by several devices counts once.
TESSERA_API MemoryStats physical_memory_stats();
/// The most bytes that the process can have: the machine's memory plus swap, or the limit of its
/// control group. Larger arrays are refused before anything is allocated.
TESSERA_API std::int64_t memory_limit();
TESSERA_API void reset_peak_memory();
/// A readable table of memory_stats for each device of this process, their sums, and
/// physical_memory_stats.
TESSERA_API std::string memory_table();

/// The shard of an array on one device.
struct Shard {
  Device device;
  /// The shard's elements within the whole array: one range per axis.
  std::vector<Range> index;
  /// 0 for the first device that holds this shard, then 1, 2, ...
  int replica_id = 0;
  /// The shard as an array on that device, sharing its memory.
  Array data;
};

/// Returns x placed on one device and committed to it: computations with it run there, and
/// uncommitted arrays are moved there.
TESSERA_API Array device_put(Operand x, Device device);
/// Places a tree, leaf by leaf.
template <class T>
requires(!std::convertible_to<T, Operand>) T
    device_put(const T& x, Device device,
               std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return device_put(Operand(leaf, loc), device); }, x);
}
/// Returns the whole of x in host order on the default device, uncommitted.
TESSERA_API Array device_get(Operand x);
template <class T>
requires(!std::convertible_to<T, Operand>) T
    device_get(const T& x, std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return device_get(Operand(leaf, loc)); }, x);
}

/// Waits for every leaf of a tree and returns the tree; a temporary is returned by value.
template <class T>
T block_until_ready(T&& x, std::source_location loc = std::source_location::current()) {
  for (const Array& leaf : tree::leaves(x))
    if (!leaf.is_empty()) leaf.block_until_ready(loc);
  return std::forward<T>(x);
}

}  // namespace tessera::inline v0
