// Options of the plug-in that TESSERA_TEST_PLUGIN names, on which tests run instead of our own.
#pragma once

#include <tessera/platform.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace test {

/// TESSERA_TEST_DEVICES_OPTION is the plug-in's option for the number of devices, by default that
/// of XLA's plug-in for CPUs. It is empty for a plug-in of GPUs, which then does not take all of
/// their memory, because a process of tests loads it several times.
inline tessera::PlatformOptions other_devices(std::int64_t count) {
  const char* given = std::getenv("TESSERA_TEST_DEVICES_OPTION");
  const std::string option = given ? given : "cpu_device_count";
  if (option.empty()) return {{"preallocate", false}};
  return {{option, count}};
}
inline tessera::PlatformOptions two_devices() { return other_devices(2); }

}  // namespace test
