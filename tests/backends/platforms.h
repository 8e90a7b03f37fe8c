// The platforms that the tests of this folder run on. A new platform needs one line in all().
#pragma once

#include "../other_plugin.h"
#include "../specs.h"
#include "far.h"
#include "runtime/programs.h"

#include <tessera/device.h>
#include <tessera/platform.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

namespace backends {

namespace ts = tessera;
using namespace rt;

struct Platform {
  const char* name;
  Backend& (*add)();  // adds the platform at the first call; returns it
};
inline std::ostream& operator<<(std::ostream& out, const Platform& p) { return out << p.name; }

/// Loads a plug-in with three devices.
inline Backend& plugged(const char* name, const char* path, const ts::PlatformOptions& options) {
  ts::load_platform(name, path, options);
  return *find_backend(name);
}

inline std::vector<Platform> all() {
  std::vector<Platform> platforms{
      {"cpu", []() -> Backend& { return host_backend(); }},
      {"far", []() -> Backend& { return far::platform(); }},
      // Tessera's own plug-in, through the client of plug-ins.
      {"loop",
       []() -> Backend& {
         return plugged("loop", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{3}}});
       }},
  };
  // Another plug-in, such as XLA's for CPUs.
  if (std::getenv("TESSERA_TEST_PLUGIN"))
    platforms.push_back({"xla", []() -> Backend& {
                           return plugged("xla", std::getenv("TESSERA_TEST_PLUGIN"),
                                          test::other_devices(3));
                         }});
  return platforms;
}

/// The fixture of a test that runs on every platform, with up to three devices and helpers that
/// place values on them.
class OnEachPlatform : public testing::TestWithParam<Platform> {
 protected:
  Devices devices{3};  // of the CPU
  Backend& backend = GetParam().add();
  const std::string name = GetParam().name;
  const int count = std::min(backend.device_count(), 3);
  const int last = count - 1;

  ts::Device device(int id) const { return {id, backend.platform()}; }
  LayoutPtr on(int id, bool committed = true) const {
    return intern(on_device(id, committed, &backend));
  }
  /// A layout over `count` devices, the last one first.
  LayoutPtr over_all(const std::string& text) const {
    std::vector<int> ids{last};
    for (int d = 0; d < last; ++d) ids.push_back(d);
    return intern({ts::MeshRef(ts::DeviceMesh{{{"i"}, {count}}, ids}), spec(text), true, &backend});
  }
  ArrayDataPtr put_on(int id, const ts::HostArray& values) const {
    return relayout(put(values), on(id));
  }
  /// For example "FarDevice(id=1)".
  std::string text(int id) const { return device_text(name, id); }
};

inline void wait_for(const std::shared_ptr<Completion>& c) {
  if (c) c->wait();
}

}  // namespace backends

/// Runs the tests of a fixture on every platform.
#define ON_EACH_PLATFORM(Fixture)                                            \
  INSTANTIATE_TEST_SUITE_P(All, Fixture, testing::ValuesIn(backends::all()), \
                           [](const auto& info) { return std::string(info.param.name); })
