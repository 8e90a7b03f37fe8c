#include "runtime/default_device.h"
#include "api/array/platform.h"
#include "runtime/backend.h"

#include <tessera/device.h>

#include <memory>

namespace tessera::inline v0 {

namespace detail {

struct ChosenDevice {
  runtime::DefaultDeviceScope scope;
};

}  // namespace detail

Device default_device() {
  const runtime::LayoutPtr layout = runtime::default_layout();
  return {layout->devices()[0], layout->backend->platform()};
}
std::string_view default_backend() { return runtime::default_backend().platform(); }

namespace {

struct Choice {
  runtime::Backend& backend;
  int id;
};
Choice need_choice(const char* function, const Device& device, const SourceLoc& loc) {
  return {detail::need_local_device(function, device, loc), device.id};
}
Choice need_choice(const char* function, std::string_view platform, const SourceLoc& loc) {
  runtime::Backend& backend = detail::need_backend(function, platform, loc);
  return {backend, backend.first_local_device()};
}
std::unique_ptr<detail::ChosenDevice> scope_of(const Choice& c) {
  return std::unique_ptr<detail::ChosenDevice>(new detail::ChosenDevice{{c.backend, c.id}});
}

}  // namespace

void set_default_device(Device device, std::source_location loc) {
  const Choice c = need_choice("set_default_device", device, loc);
  runtime::choose_default(c.backend, c.id);
}
void set_default_device(std::string_view platform, std::source_location loc) {
  const Choice c = need_choice("set_default_device", platform, loc);
  runtime::choose_default(c.backend, c.id);
}

DefaultDevice::DefaultDevice(Device device, std::source_location loc)
    : chosen_(scope_of(need_choice("DefaultDevice", device, loc))) {}
DefaultDevice::DefaultDevice(std::string_view platform, std::source_location loc)
    : chosen_(scope_of(need_choice("DefaultDevice", platform, loc))) {}
DefaultDevice::~DefaultDevice() = default;

}  // namespace tessera::inline v0
