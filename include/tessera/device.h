// Devices, and what lives on them.
//
// A device belongs to a platform. The CPU is always there; what is not placed elsewhere lives and
// runs on it. A process has as many virtual CPU devices as TESSERA_DEVICES or set_device_count say,
// one a core by default. They share memory and a pool of as many workers as there are cores; no
// thread stands for a device, so more devices than cores is normal. All functions here are safe to
// call from any thread.
//
// Exit: a process that ends by a return from main or by exit(), on any thread, first waits for the
// calls that are under way. Arrays may be used to the very end, by destructors of static objects
// and by threads that are still running; what is asked for then runs on the thread that asks, is
// not compiled any more, and where a library's routine would do it, is evaluated slowly.
// quick_exit, abort and uncaught exceptions wait for nothing. After pthread_exit in main the other
// threads go on; as this library and those below it have threads that never end, one of the
// program's own has to call exit().
//
// fork: waits for the calls that are under way on other threads and holds up new ones, so that the
// child has every result that its parent had asked for. The child computes, on the thread that
// asks, without workers. system() and posix_spawn do not wait.
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
  int id = 0;  // among those of its platform
  /// Text that lives as long as the process.
  std::string_view platform = "cpu";
  bool operator==(const Device&) const = default;
};
/// "CpuDevice(id=0)"
TESSERA_API std::string to_string(const Device& device);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Device& device);
/// "[CpuDevice(id=0), CpuDevice(id=1)]"
TESSERA_API std::ostream& operator<<(std::ostream& out, const std::vector<Device>& devices);

/// Of the CPU.
TESSERA_API std::vector<Device> devices();
/// Of a platform by name; DeviceError where the process has none of that name.
TESSERA_API std::vector<Device> devices(std::string_view platform,
                                        std::source_location loc = std::source_location::current());
TESSERA_API int device_count();
/// Grows at any time; shrinks while no array lives on the devices that go, else DeviceError. At
/// least 1.
TESSERA_API void set_device_count(int n,
                                  std::source_location loc = std::source_location::current());
/// Whether programs take subnormal numbers for zeros: those below 1.2e-38 in float32 and 2.2e-308 in
/// float64, with which many processors compute a hundred times as slowly, and where gradients that
/// vanish end. Goes for calls that begin from now on, of all threads and with all that they call;
/// the program's own threads keep their modes. What follows from constants alone is computed when a
/// function is compiled, and keeps them. Off, or as TESSERA_FLUSH_DENORMAL says.
TESSERA_API void set_flush_denormal(bool on);
TESSERA_API bool flush_denormal();
/// "cpu": the platform of what is not placed elsewhere.
TESSERA_API std::string_view default_backend();
/// "0.1.0"
TESSERA_API std::string_view version();

/// Bytes of arrays: `live` now, `peak` the most since the start or the last reset_peak_memory.
struct MemoryStats {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};
/// Logical bytes of one device: as if it held its own copy of everything placed on it.
TESSERA_API MemoryStats memory_stats(Device device,
                                     std::source_location loc = std::source_location::current());
/// Bytes that the process holds: what devices share counts once.
TESSERA_API MemoryStats physical_memory_stats();
/// Bytes that the process can have at most: the machine's memory with its swap space, or the limit
/// of its control group. Arrays beyond are refused before anything is allocated.
TESSERA_API std::int64_t memory_limit();
TESSERA_API void reset_peak_memory();
/// A table for people: memory_stats of each device of this process, their sums, and
/// physical_memory_stats.
TESSERA_API std::string memory_table();

/// The part of an array that one device holds.
struct Shard {
  Device device;
  /// Which elements of the whole: one range an axis.
  std::vector<Range> index;
  /// 0 for the first device that holds this part, then 1, 2, ...
  int replica_id = 0;
  /// The part as an array on that device. Not a copy.
  Array data;
};

/// x on one device, committed to it: computations with it run there, and arrays that are not
/// committed follow.
TESSERA_API Array device_put(Operand x, Device device);
/// A tree, leaf by leaf.
template <class T>
requires(!std::convertible_to<T, Operand>) T
    device_put(const T& x, Device device,
               std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return device_put(Operand(leaf, loc), device); }, x);
}
/// The whole of x in host order on the default device, not committed.
TESSERA_API Array device_get(Operand x);
template <class T>
requires(!std::convertible_to<T, Operand>) T
    device_get(const T& x, std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return device_get(Operand(leaf, loc)); }, x);
}

/// Waits for every leaf of a tree; gives it back, a temporary by value.
template <class T>
T block_until_ready(T&& x, std::source_location loc = std::source_location::current()) {
  for (const Array& leaf : tree::leaves(x))
    if (!leaf.is_empty()) leaf.block_until_ready(loc);
  return std::forward<T>(x);
}

}  // namespace tessera::inline v0
