// Virtual CPU devices of this process and of the processes that run with it.
#pragma once

#include "base/message.h"
#include "runtime/host/accounting.h"
#include "runtime/memory_stats.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

namespace tessera::inline v0 {

namespace processes {
class Group;
}  // namespace processes

namespace runtime {

struct Layout;

inline constexpr int kMaxDevices = 4096;

/// The virtual devices of a group of processes, as one of them sees them. A process can have
/// several such sets, which share only its memory and its workers; its programs run on
/// own_devices(). All functions are safe to call from any thread.
class HostDevices {
 public:
  struct Options {
    /// The number of devices of all processes, each of which has equally many.
    int count = 1;
    /// Every device computes and stores its own values.
    bool isolated = false;
    /// The function or variable that set the number, for errors.
    std::string_view function = "set_device_count";
    SourceLoc loc = {};
  };
  /// The process has joined the others of the group, and the group outlives this object. Throws
  /// DeviceError if there cannot be that many devices.
  HostDevices(processes::Group& group, const Options& options);
  HostDevices(const HostDevices&) = delete;
  HostDevices& operator=(const HostDevices&) = delete;

  /// The number of devices of all processes.
  int count() const { return count_.load(std::memory_order_relaxed); }
  /// Changes the number. All processes of the group call it, with the same number. Increasing it is
  /// always possible, until devices of several processes are settled. Reducing it throws
  /// DeviceError if arrays live on the removed devices, or if one of them is `last_default()`,
  /// the default device with the highest id.
  void set_count(int n, const std::function<int()>& last_default = {}, const SourceLoc& loc = {});
  /// This process's devices: local_count() of them, starting at first_local().
  int local_count() const;
  int first_local() const;
  int process_of(int device) const { return device / local_count(); }
  /// Fixes the assignment of devices to processes, because there is an array on several devices.
  void settle() { settled_.store(true, std::memory_order_relaxed); }

  bool isolated() const { return isolated_.load(std::memory_order_relaxed); }
  void set_isolated(bool on) { isolated_.store(on); }

  /// The array memory of a device. Throws DeviceError if there is no such device.
  MemoryStats memory_stats(int device) const;
  void reset_peak_memory();
  /// Adds to the bytes and arrays of the devices of a layout. Does not allocate or block.
  void charge(const Layout& layout, std::int64_t bytes, std::int64_t arrays);

 private:
  struct Device {
    ByteCounter bytes;
    std::atomic<std::int64_t> arrays{0};
  };
  void need_possible(std::string_view function, int n, const SourceLoc& loc) const;
  std::int64_t arrays_from(int first) const;

  processes::Group& group_;
  std::atomic<int> count_;
  std::atomic<bool> isolated_;
  std::atomic<bool> settled_{false};
  std::mutex changing_;  // the number of devices
  std::array<Device, kMaxDevices> devices_;
};

/// The devices that this process's programs run on: TESSERA_DEVICES of them, or else one per core
/// of this machine and at least one per process; TESSERA_ISOLATE=1 isolates them. The first call
/// joins the processes that were started together. The functions below are those of this set.
HostDevices& own_devices();

int device_count();
void set_device_count(int n, const SourceLoc& loc = {});
int first_local_device();
int local_device_count();
inline bool is_local(int device) {
  return device >= first_local_device() && device < first_local_device() + local_device_count();
}
int process_of(int device);
void settle_devices();
MemoryStats memory_stats(int device);
bool isolated();
void set_isolated(bool on);  // for tests and measurements; does not affect programs compiled before

/// The bytes that the process actually holds in array memory, and their maximum.
MemoryStats physical_memory_stats();
/// Resets the maxima of own_devices() and of the process.
void reset_peak_memory();

/// The number of workers in the pool.
int worker_count();

}  // namespace runtime
}  // namespace tessera::inline v0
