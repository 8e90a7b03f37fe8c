#include "runtime/backend.h"

#include "base/process.h"
#include "processes/processes.h"

#include <algorithm>
#include <cctype>
#include <mutex>

namespace tessera::inline v0::runtime {

std::unique_ptr<Backend> make_cpu_backend();  // runtime/cpu/cpu_backend.cc

namespace {

// The process has one list of platforms, because users name them. Leaked, because arrays may
// outlive main's statics.
struct Backends {
  std::mutex mutex;
  std::vector<std::unique_ptr<Backend>> all;

  static Backends& instance() {
    static auto* b = [] {
      auto* made = new Backends;
      made->all.push_back(make_cpu_backend());
      return made;
    }();
    return *b;
  }
  // Requires the lock.
  Backend* find(std::string_view platform) const {
    for (const auto& b : all)
      if (b->platform() == platform) return b.get();
    return nullptr;
  }
};

}  // namespace

Backend& host_backend() {
  static Backend* const cpu = Backends::instance().all.front().get();
  return *cpu;
}

int Backend::process_of(int /*device*/) const { return processes::rank(); }

bool Backend::is_local(int device) const { return process_of(device) == processes::rank(); }

std::vector<int> Backend::local_devices() const {
  std::vector<int> local;
  for (int d = 0; d < device_count(); ++d)
    if (is_local(d)) local.push_back(d);
  return local;
}

int Backend::first_local_device() const {
  for (int d = 0; d < device_count(); ++d)
    if (is_local(d)) return d;
  throw InternalError("the platform '" + platform_ + "' has no device in this process");
}

std::optional<PlannedMemory> Backend::plan_memory(const Program&, const std::vector<bool>&) const {
  return std::nullopt;
}

Backend& add_backend(std::unique_ptr<Backend> backend) {
  Backends& b = Backends::instance();
  Locked lock(b.mutex);
  if (b.find(backend->platform()))
    throw InternalError("the platform '" + backend->platform() + "' was added twice");
  backend->number_ = static_cast<int>(b.all.size());
  b.all.push_back(std::move(backend));
  return *b.all.back();
}

Backend* find_backend(std::string_view platform) {
  Backends& b = Backends::instance();
  Locked lock(b.mutex);
  return b.find(platform);
}

Backend& backend_of(const DeviceMesh& mesh) {
  if (mesh.platform.empty()) return host_backend();
  if (Backend* found = find_backend(mesh.platform)) return *found;
  throw InternalError("a mesh has devices of '" + mesh.platform + "', which is not loaded");
}

std::vector<std::string> platforms() {
  Backends& b = Backends::instance();
  Locked lock(b.mutex);
  std::vector<std::string> names;
  for (const auto& backend : b.all) names.push_back(backend->platform());
  return names;
}

std::string device_text(std::string_view platform, int id) {
  std::string name(platform);
  if (!name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name + "Device(id=" + std::to_string(id) + ")";
}

Backend& backend_for(std::string_view name, std::span<const ArrayDataPtr> inputs) {
  Backend& usual = default_backend();
  const auto elsewhere = [&](const ArrayDataPtr& a) { return a->layout->backend != &usual; };
  if (std::none_of(inputs.begin(), inputs.end(), elsewhere)) return usual;
  Backend* committed = nullptr;
  for (const ArrayDataPtr& a : inputs) {
    if (!a->layout->committed) continue;
    if (committed && committed != a->layout->backend) refuse_places(name, inputs);
    committed = a->layout->backend;
  }
  return committed ? *committed : usual;
}

LayoutPtr place_for(std::string_view name, Backend& backend, std::span<const ArrayDataPtr> inputs) {
  LayoutPtr place;
  for (const ArrayDataPtr& a : inputs) {
    const Layout& l = *a->layout;
    if (!l.committed || l.backend != &backend || l.devices().size() != 1) continue;
    if (place && place->devices() != l.devices()) refuse_places(name, inputs);
    place = place_of_whole(a->layout);
  }
  return place ? place : uncommitted_layout(backend);
}

void refuse_places(std::string_view name, std::span<const ArrayDataPtr> inputs) {
  Message m{name};
  m.problem("the inputs are committed to different devices");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Layout& l = *inputs[i]->layout;
    if (l.committed)
      m.offender("input " + std::to_string(i) + ", " + to_string(inputs[i]->type) + ", is on " +
                 device_text(l.backend->platform(), l.devices()[0]));
  }
  m.rule("a computation runs on one device; inputs that are not committed follow those that are")
      .from(CallerLine::now())
      .advice("move one of them: device_put(x, device), or device_get(x), which is not committed")
      .raise<ShardingError>();
}

}  // namespace tessera::inline v0::runtime
