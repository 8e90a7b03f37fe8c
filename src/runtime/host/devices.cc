#include "runtime/host/devices.h"

#include "base/process.h"
#include "base/settings.h"
#include "processes/alike.h"
#include "processes/processes.h"
#include "runtime/backend.h"
#include "runtime/host/accounting.h"
#include "runtime/host/pool.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>

namespace tessera::inline v0::runtime {
namespace {

struct Counter {
  std::atomic<std::int64_t> live{0}, peak{0};
  void add(std::int64_t n) {
    std::int64_t now = live.fetch_add(n, std::memory_order_relaxed) + n;
    std::int64_t seen = peak.load(std::memory_order_relaxed);
    while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  MemoryStats stats() const {
    return {live.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed)};
  }
  void reset() { peak.store(live.load(std::memory_order_relaxed), std::memory_order_relaxed); }
};

struct Device {
  Counter bytes;
  std::atomic<std::int64_t> arrays{0};
};
Device g_devices[kMaxDevices];
Counter g_physical;

[[noreturn]] void refuse_uneven(const char* function, int n, const SourceLoc& loc) {
  const int processes = processes::count();
  Message(function)
      .problem(std::to_string(n) + " devices for " + std::to_string(processes) + " processes")
      .rule("each process has as many: " + std::to_string(n) + " is not divisible by " +
            std::to_string(processes))
      .from(loc)
      .advice("take " + std::to_string((n + processes - 1) / processes * processes) +
              ", the number of all devices")
      .raise<DeviceError>();
}

int chosen_device_count() {
  processes::join();
  const int processes = processes::count();
  if (const auto n = settings::number("TESSERA_DEVICES")) {
    if (*n % processes) refuse_uneven("TESSERA_DEVICES", static_cast<int>(*n), {});
    return static_cast<int>(*n);
  }
  // Machines may have different numbers of cores.
  const int of_first = processes > 1 ? processes::cores_of_first() : worker_count();
  const int cores = std::max(1, std::min(of_first, kMaxDevices));
  return (cores + processes - 1) / processes * processes;
}
int initial_device_count() {
  const int n = chosen_device_count();
  processes::set_devices_each(n / processes::count());
  return n;
}
std::atomic<int>& count() {
  static std::atomic<int>* n = new std::atomic<int>(initial_device_count());
  return *n;
}

// Whether the assignment of devices to processes is fixed, because of arrays on several devices.
std::atomic<bool> g_settled{false};

std::atomic<bool>& isolation() {
  static std::atomic<bool> on{settings::flag("TESSERA_ISOLATE")};
  return on;
}

}  // namespace

int device_count() { return count().load(std::memory_order_relaxed); }
int local_device_count() { return device_count() / processes::count(); }
int first_local_device() { return processes::rank() * local_device_count(); }
int process_of(int device) { return device / local_device_count(); }
void settle_devices() { g_settled.store(true, std::memory_order_relaxed); }

void set_device_count(int n, const SourceLoc& loc) {
  if (device_count(); processes::count() > 1)
    processes::need_like_number("set_device_count", "devices", n, loc);
  static std::mutex mutex;
  Locked lock(mutex);
  if (n < 1 || n > kMaxDevices)
    Message("set_device_count")
        .problem("a process cannot have " + std::to_string(n) + " devices")
        .rule("it has from 1 to " + std::to_string(kMaxDevices))
        .from(loc)
        .advice("set_device_count(4)")
        .raise<DeviceError>();
  int now = device_count();
  if (n % processes::count()) refuse_uneven("set_device_count", n, loc);
  if (n != now && processes::count() > 1 && g_settled.load())
    Message("set_device_count")
        .problem("there are arrays on several of the " + std::to_string(now) + " devices")
        .rule("device d is of process d / (devices / processes), and stays there")
        .from(loc)
        .advice("call it first, or set TESSERA_DEVICES=" + std::to_string(n))
        .raise<DeviceError>();
  if (const int last = last_chosen_device(host_backend()); last >= n)
    Message("set_device_count")
        .problem("cannot shrink from " + std::to_string(now) + " to " + std::to_string(n) +
                 " devices: device " + std::to_string(last) + " is a default device")
        .rule("a device stays while new arrays are placed on it")
        .from(loc)
        .advice("set_default_device(\"cpu\") first, or end the scope of the DefaultDevice")
        .raise<DeviceError>();
  if (std::int64_t held = n < now ? arrays_from(n) : 0)
    Message("set_device_count")
        .problem("cannot shrink from " + std::to_string(now) + " to " + std::to_string(n) +
                 " devices: " + std::to_string(held) +
                 (held == 1 ? " block of an array lives" : " blocks of arrays live") +
                 " on devices " + std::to_string(n) + " to " + std::to_string(now - 1))
        .rule("devices can go once no array lives on them")
        .from(loc)
        .advice("let those arrays go out of scope first, or move them with device_put")
        .raise<DeviceError>();
  count().store(n);
  processes::set_devices_each(n / processes::count());
}

MemoryStats memory_stats(int device) {
  if (device < 0 || device >= device_count())
    Message("memory_stats")
        .problem("there is no device " + std::to_string(device))
        .rule("devices are 0 to " + std::to_string(device_count() - 1))
        .raise<DeviceError>();
  return g_devices[device].bytes.stats();
}
MemoryStats physical_memory_stats() { return g_physical.stats(); }
void reset_peak_memory() {
  for (Device& d : g_devices) d.bytes.reset();
  g_physical.reset();
}

bool isolated() { return isolation().load(std::memory_order_relaxed); }
void set_isolated(bool on) { isolation().store(on); }

void count_devices(const Layout& layout, std::int64_t bytes, std::int64_t arrays) {
  for (std::size_t k = 0; k < layout.shards(); ++k) {
    const int d = layout.devices()[static_cast<std::size_t>(layout.place(k))];
    g_devices[d].bytes.add(bytes);
    g_devices[d].arrays.fetch_add(arrays, std::memory_order_relaxed);
  }
}
void count_physical(std::int64_t bytes) { g_physical.add(bytes); }
std::int64_t physical_live() { return g_physical.live.load(std::memory_order_relaxed); }
std::int64_t arrays_from(int first) {
  std::int64_t n = 0;
  for (int d = first; d < kMaxDevices; ++d)
    n += g_devices[d].arrays.load(std::memory_order_relaxed);
  return n;
}

}  // namespace tessera::inline v0::runtime
