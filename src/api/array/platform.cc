#include "api/array/platform.h"

#include "runtime/host/devices.h"

namespace tessera::inline v0::detail {

runtime::Backend& need_backend(const char* function, std::string_view platform,
                               const SourceLoc& loc) {
  if (runtime::Backend* b = runtime::find_backend(platform)) return *b;
  std::string names;
  for (const std::string& name : runtime::platforms())
    names += (names.empty() ? "'" : ", '") + name + "'";
  Message(function)
      .problem("there is no platform '" + std::string(platform) + "'")
      .rule("this process has " + names)
      .from(loc)
      .advice("take one of devices()")
      .raise<DeviceError>();
}

runtime::Backend& need_device(const char* function, const Device& d, const SourceLoc& loc) {
  runtime::Backend& backend = need_backend(function, d.platform, loc);
  const int count = backend.device_count();
  if (d.id >= 0 && d.id < count) return backend;
  const bool virtual_ones = &backend == &runtime::host_backend();
  Message(function)
      .problem("there is no device " + std::to_string(d.id))
      .rule((virtual_ones ? "this process" : "'" + backend.platform() + "'") +
            " has devices 0 to " + std::to_string(count - 1))
      .from(loc)
      .advice(virtual_ones && d.id >= 0 && d.id < runtime::kMaxDevices
                  ? "call set_device_count(" + std::to_string(d.id + 1) +
                        ") first, or set TESSERA_DEVICES"
                  : "take one of devices()")
      .raise<DeviceError>();
}

runtime::Backend& need_local_device(const char* function, const Device& d, const SourceLoc& loc) {
  runtime::Backend& backend = need_device(function, d, loc);
  if (backend.is_local(d.id)) return backend;
  const std::vector<int> local = backend.local_devices();
  Message(function)
      .problem("device " + std::to_string(d.id) + " is of process " +
               std::to_string(backend.process_of(d.id)))
      .rule("a process places arrays on its own devices, here " + std::to_string(local.front()) +
            " to " + std::to_string(local.back()))
      .from(loc)
      .advice("take one of local_devices(), or a sharding over devices of all processes")
      .raise<DeviceError>();
}

}  // namespace tessera::inline v0::detail
