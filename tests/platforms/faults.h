// Faults of a plug-in, which tests/platforms/faulty_plugin.cc makes.
#pragma once

#include "message.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace faults {

namespace ts = tessera;

/// The plug-in fails like this while it lives.
struct Fault {
  explicit Fault(const char* name) { ::setenv("TESSERA_TEST_FAULT", name, 1); }
  ~Fault() { ::unsetenv("TESSERA_TEST_FAULT"); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};

/// The platform "faulty", with two devices.
inline std::vector<ts::Device> load() {
  return ts::load_platform("faulty", TESSERA_FAULTY_PLUGIN, {{"device_count", std::int64_t{2}}});
}

}  // namespace faults
