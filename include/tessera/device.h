// Devices, the memory they use, and the placement of arrays on them.
//
// A device belongs to a platform. The CPU platform always exists. A process has as many virtual CPU
// devices as TESSERA_DEVICES or set_device_count specifies, by default one per core. They share
// memory and a pool of one worker thread per core. Devices have no threads of their own, so it is
// fine to have more devices than cores. All functions here are safe to call from any thread.
//
// New arrays are placed on the default device, uncommitted, and a computation whose arguments are
// all uncommitted runs there. It is the first CPU device until set_default_device or DefaultDevice
// chooses another one.
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
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0 {

namespace detail {
struct ChosenDevice;
}  // namespace detail

/// A device of a platform. Devices are compared by platform and id.
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

/// The devices of the default device's platform.
TESSERA_API std::vector<Device> devices();
/// The devices of the named platform. Throws DeviceError if the process has no such platform.
TESSERA_API std::vector<Device> devices(std::string_view platform,
                                        std::source_location loc = std::source_location::current());
/// The number of devices().
TESSERA_API int device_count();
/// Sets the number of CPU devices, at least 1. It can always grow; shrinking throws DeviceError if
/// an array is on a device that would be removed, or if that device is a default device.
TESSERA_API void set_device_count(int n,
                                  std::source_location loc = std::source_location::current());
/// Whether programs flush subnormal numbers to zero: those below 1.2e-38 in float32 and 2.2e-308 in
/// float64, which typically appear when gradients underflow and slow down many processors a
/// hundredfold. Applies to programs started after this call, from any thread, including everything
/// they call; the calling program's own threads keep their floating-point mode. Constant-folded
/// values are computed at compile time and keep their subnormals. Default: off, or the value of
/// TESSERA_FLUSH_DENORMAL.
TESSERA_API void set_flush_denormal(bool on);
/// Whether programs that start now flush subnormal numbers to zero.
TESSERA_API bool flush_denormal();

/// The device on which this thread places new arrays, and on which it runs computations whose
/// arguments are all uncommitted. Arguments that are elsewhere are moved there. As long as no
/// device has been chosen, a result that is computed from a row of a sharded array stays on the
/// device that holds the row.
TESSERA_API Device default_device();
/// Sets the default device of all threads, except inside a DefaultDevice. Arrays that exist stay
/// where they are. Functions that are given no devices, such as devices(), pmap and Mesh, use all
/// devices of its platform. Throws DeviceError if there is no such device or if it belongs to
/// another process.
TESSERA_API void set_default_device(Device device,
                                    std::source_location loc = std::source_location::current());
/// Sets the default device to this process's first device of a platform; "cpu" restores the initial
/// one. Throws DeviceError if the process has no such platform.
TESSERA_API void set_default_device(std::string_view platform,
                                    std::source_location loc = std::source_location::current());
/// Overrides the default device on the thread that constructs it, for its lifetime. Throws as
/// set_default_device does. If a thread has several, the newest applies. They may be destroyed in
/// any order, and on other threads.
class TESSERA_API DefaultDevice {
 public:
  explicit DefaultDevice(Device device, std::source_location loc = std::source_location::current());
  explicit DefaultDevice(std::string_view platform,
                         std::source_location loc = std::source_location::current());
  ~DefaultDevice();
  DefaultDevice(const DefaultDevice&) = delete;
  DefaultDevice& operator=(const DefaultDevice&) = delete;

 private:
  std::unique_ptr<detail::ChosenDevice> chosen_;
};
/// The name of the default device's platform, such as "cpu".
TESSERA_API std::string_view default_backend();
/// "0.1.0"
TESSERA_API std::string_view version();

/// Bytes of arrays: `live` is the current amount, `peak` the maximum since the start of the process
/// or the last reset_peak_memory.
struct MemoryStats {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};
/// Logical bytes of one device, counted as if it held its own copy of everything placed on it. On a
/// platform other than the CPU these are the figures of the platform's allocator.
TESSERA_API MemoryStats memory_stats(Device device,
                                     std::source_location loc = std::source_location::current());
/// Bytes of host memory that the process holds; memory shared by several devices counts once.
TESSERA_API MemoryStats physical_memory_stats();
/// The number of bytes that the process can use at most: the machine's memory plus swap, or the
/// limit of its control group. Larger arrays are rejected before anything is allocated.
TESSERA_API std::int64_t memory_limit();
/// Sets the peaks of the CPU's devices and of physical_memory_stats to the bytes that are live now.
TESSERA_API void reset_peak_memory();
/// A readable table of memory_stats for each of local_devices(), their sums, and
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
/// Returns the whole of x in host order on the first CPU device, uncommitted.
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
