#include "runtime/default_device.h"

#include "base/process.h"
#include "runtime/backend.h"

#include <algorithm>
#include <list>
#include <mutex>

namespace tessera::inline v0::runtime {

std::atomic<const DefaultDevice*> g_chosen{nullptr};
const DefaultDevice g_chosen_by_thread{nullptr, 0, nullptr};

namespace {

// The process has one list of choices, because they are its user's. Leaked, because threads may
// outlive main's statics.
struct Choices {
  std::mutex mutex;
  std::list<DefaultDevice> devices;  // all that have ever been chosen
  std::atomic<DefaultDevice*> for_all{nullptr};
  int scopes = 0;

  static Choices& instance() {
    static auto* c = new Choices;
    return *c;
  }
  // Counts one more choice of a device, by its layout. Requires the lock.
  DefaultDevice* choose(Backend& backend, const LayoutPtr& layout) {
    if (!layout) return nullptr;
    auto it = std::find_if(devices.begin(), devices.end(),
                           [&](const DefaultDevice& d) { return d.layout == layout; });
    if (it == devices.end())
      it = devices.insert(it, DefaultDevice{&backend, layout->devices()[0], layout});
    ++it->choices;
    return &*it;
  }
  // Requires the lock.
  void publish() {
    g_chosen.store(scopes > 0 ? &g_chosen_by_thread : for_all.load(std::memory_order_relaxed),
                   std::memory_order_release);
  }
};

// Null for the device that is the default without any choice.
LayoutPtr layout_of_choice(Backend& backend, int device) {
  LayoutPtr layout = intern(on_device(device, false, &backend));
  return layout == host_layout() ? nullptr : layout;
}

DefaultDevice* begin_scope(Backend& backend, int device) {
  const LayoutPtr layout = layout_of_choice(backend, device);
  Choices& c = Choices::instance();
  Locked lock(c.mutex);
  DefaultDevice* const chosen = c.choose(backend, layout);
  ++c.scopes;
  c.publish();
  return chosen;
}

}  // namespace

void choose_default(Backend& backend, int device) {
  const LayoutPtr layout = layout_of_choice(backend, device);
  Choices& c = Choices::instance();
  Locked lock(c.mutex);
  DefaultDevice* const before = c.for_all.exchange(c.choose(backend, layout));
  if (before) --before->choices;
  c.publish();
}

thread_local const DefaultDeviceScope* DefaultDeviceScope::innermost_ = nullptr;

DefaultDeviceScope::DefaultDeviceScope(Backend& backend, int device)
    : device_(begin_scope(backend, device)), outer_(innermost_) {
  innermost_ = this;
}

DefaultDeviceScope::~DefaultDeviceScope() {
  innermost_ = outer_;
  Choices& c = Choices::instance();
  Locked lock(c.mutex);
  if (device_) --device_->choices;
  --c.scopes;
  c.publish();
}

const DefaultDevice* DefaultDeviceScope::innermost() {
  return innermost_ ? innermost_->device_
                    : Choices::instance().for_all.load(std::memory_order_acquire);
}

int last_chosen_device(const Backend& backend) {
  Choices& c = Choices::instance();
  Locked lock(c.mutex);
  int last = -1;
  for (const DefaultDevice& d : c.devices)
    if (d.backend == &backend && d.choices > 0) last = std::max(last, d.id);
  return last;
}

LayoutPtr default_layout() {
  const DefaultDevice* d = chosen_default();
  return d ? d->layout : host_layout();
}

LayoutPtr uncommitted_layout(Backend& backend) {
  const DefaultDevice* d = chosen_default();
  if (d && d->backend == &backend) return d->layout;
  if (&backend == &host_backend()) return host_layout();
  return intern(on_device(backend.first_local_device(), false, &backend));
}

}  // namespace tessera::inline v0::runtime
