// Finds platforms by the names that users give them.
#pragma once

#include "base/message.h"
#include "runtime/backend.h"

#include <tessera/device.h>

#include <cstdint>
#include <string_view>

namespace tessera::inline v0::detail {

/// Throws DeviceError, naming `function`, if the process has no such platform.
runtime::Backend& need_backend(const char* function, std::string_view platform,
                               const SourceLoc& loc);
/// Throws DeviceError, naming `function`, if the device does not exist.
runtime::Backend& need_device(const char* function, const Device& device, const SourceLoc& loc);
/// Throws DeviceError, naming `function`, if the device does not exist or is another process's.
runtime::Backend& need_local_device(const char* function, const Device& device,
                                    const SourceLoc& loc);

/// A word for the keys of functions that are traced for the devices of a platform.
inline std::uint64_t devices_word(const runtime::Backend& backend) {
  return static_cast<std::uint64_t>(backend.number()) << 32 |
         static_cast<std::uint32_t>(backend.device_count());
}

}  // namespace tessera::inline v0::detail
