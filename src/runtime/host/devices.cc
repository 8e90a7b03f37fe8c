#include "runtime/host/devices.h"

#include "base/process.h"
#include "base/settings.h"
#include "processes/alike.h"
#include "processes/group.h"
#include "processes/processes.h"
#include "runtime/backend.h"
#include "runtime/host/pool.h"

#include <algorithm>
#include <string>

namespace tessera::inline v0::runtime {

HostDevices::HostDevices(processes::Group& group, const Options& options)
    : group_(group), count_(options.count), isolated_(options.isolated) {
  need_possible(options.function, options.count, options.loc);
}

void HostDevices::need_possible(std::string_view function, int n, const SourceLoc& loc) const {
  if (n < 1 || n > kMaxDevices)
    Message(function)
        .problem("a process cannot have " + std::to_string(n) + " devices")
        .rule("it has from 1 to " + std::to_string(kMaxDevices))
        .from(loc)
        .advice("set_device_count(4)")
        .raise<DeviceError>();
  const int processes = group_.count();
  if (n % processes != 0)
    Message(function)
        .problem(std::to_string(n) + " devices for " + std::to_string(processes) + " processes")
        .rule("each process has as many: " + std::to_string(n) + " is not divisible by " +
              std::to_string(processes))
        .from(loc)
        .advice("take " + std::to_string((n + processes - 1) / processes * processes) +
                ", the number of all devices")
        .raise<DeviceError>();
}

int HostDevices::local_count() const { return count() / group_.count(); }
int HostDevices::first_local() const { return group_.rank() * local_count(); }

void HostDevices::set_count(int n, const std::function<int()>& last_default, const SourceLoc& loc) {
  if (group_.count() > 1)
    processes::need_like_number(group_, "set_device_count", "devices", n, loc);
  Locked lock(changing_);
  need_possible("set_device_count", n, loc);
  const int now = count();
  if (n != now && group_.count() > 1 && settled_.load())
    Message("set_device_count")
        .problem("there are arrays on several of the " + std::to_string(now) + " devices")
        .rule("device d is of process d / (devices / processes), and stays there")
        .from(loc)
        .advice("call it first, or set TESSERA_DEVICES=" + std::to_string(n))
        .raise<DeviceError>();
  if (const int last = last_default ? last_default() : -1; last >= n)
    Message("set_device_count")
        .problem("cannot shrink from " + std::to_string(now) + " to " + std::to_string(n) +
                 " devices: device " + std::to_string(last) + " is a default device")
        .rule("a device stays while new arrays are placed on it")
        .from(loc)
        .advice("set_default_device(\"cpu\") first, or end the scope of the DefaultDevice")
        .raise<DeviceError>();
  if (const std::int64_t held = n < now ? arrays_from(n) : 0)
    Message("set_device_count")
        .problem("cannot shrink from " + std::to_string(now) + " to " + std::to_string(n) +
                 " devices: " + std::to_string(held) +
                 (held == 1 ? " block of an array lives" : " blocks of arrays live") +
                 " on devices " + std::to_string(n) + " to " + std::to_string(now - 1))
        .rule("devices can go once no array lives on them")
        .from(loc)
        .advice("let those arrays go out of scope first, or move them with device_put")
        .raise<DeviceError>();
  count_.store(n);
}

MemoryStats HostDevices::memory_stats(int device) const {
  if (device < 0 || device >= count())
    Message("memory_stats")
        .problem("there is no device " + std::to_string(device))
        .rule("devices are 0 to " + std::to_string(count() - 1))
        .raise<DeviceError>();
  return devices_[static_cast<std::size_t>(device)].bytes.stats();
}
void HostDevices::reset_peak_memory() {
  for (Device& d : devices_) d.bytes.reset_peak();
}

void HostDevices::charge(const Layout& layout, std::int64_t bytes, std::int64_t arrays) {
  for (std::size_t k = 0; k < layout.shards(); ++k) {
    const int d = layout.devices()[static_cast<std::size_t>(layout.place(k))];
    Device& device = devices_[static_cast<std::size_t>(d)];
    device.bytes.add(bytes);
    device.arrays.fetch_add(arrays, std::memory_order_relaxed);
  }
}
std::int64_t HostDevices::arrays_from(int first) const {
  std::int64_t n = 0;
  for (auto d = static_cast<std::size_t>(first); d < devices_.size(); ++d)
    n += devices_[d].arrays.load(std::memory_order_relaxed);
  return n;
}

namespace {

HostDevices::Options chosen_options() {
  processes::join();
  HostDevices::Options chosen;
  chosen.isolated = settings::flag("TESSERA_ISOLATE");
  chosen.function = "TESSERA_DEVICES";
  if (const auto n = settings::number("TESSERA_DEVICES")) {
    chosen.count = static_cast<int>(*n);
    return chosen;
  }
  const int processes = processes::count();
  // Machines may have different numbers of cores.
  const int of_first = processes > 1 ? processes::cores_of_first() : worker_count();
  const int cores = std::max(1, std::min(of_first, kMaxDevices));
  chosen.count = (cores + processes - 1) / processes * processes;
  return chosen;
}

ByteCounter g_physical;

}  // namespace

HostDevices& own_devices() {
  // Leaked, because arrays may outlive main's statics.
  static auto* devices = new HostDevices(processes::own_group(), chosen_options());
  return *devices;
}

int device_count() { return own_devices().count(); }
void set_device_count(int n, const SourceLoc& loc) {
  own_devices().set_count(
      n, [] { return last_chosen_device(host_backend()); }, loc);
}
int local_device_count() { return own_devices().local_count(); }
int first_local_device() { return own_devices().first_local(); }
int process_of(int device) { return own_devices().process_of(device); }
void settle_devices() { own_devices().settle(); }
MemoryStats memory_stats(int device) { return own_devices().memory_stats(device); }
bool isolated() { return own_devices().isolated(); }
void set_isolated(bool on) { own_devices().set_isolated(on); }

void count_physical(std::int64_t bytes) { g_physical.add(bytes); }
std::int64_t physical_live() { return g_physical.live(); }
MemoryStats physical_memory_stats() { return g_physical.stats(); }
void reset_peak_memory() {
  own_devices().reset_peak_memory();
  g_physical.reset_peak();
}

}  // namespace tessera::inline v0::runtime
