#include "runtime/default_device.h"

#include "base/message.h"
#include "base/process.h"
#include "base/settings.h"
#include "runtime/backend.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

namespace tessera::inline v0::runtime {

const DefaultDevice g_chosen_by_thread{nullptr, 0, nullptr};
std::atomic<const DefaultDevice*> g_chosen{&g_chosen_by_thread};

namespace {

// The list of choices is global to the process, because they are its user's. Leaked, because
// threads may outlive main's statics.
struct Choices {
  std::mutex mutex;
  std::list<DefaultDevice> devices;  // all that have ever been chosen
  std::atomic<DefaultDevice*> for_all{nullptr};
  int scopes = 0;
  // Whether the environment has been read, or need not be because the user has chosen.
  std::atomic<bool> is_settled{false};

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
    if (!is_settled) return;
    g_chosen.store(scopes > 0 ? &g_chosen_by_thread : for_all.load(std::memory_order_relaxed),
                   std::memory_order_release);
  }
};

// Null for the device that is the default without any choice.
LayoutPtr layout_of_choice(Backend& backend, int device) {
  LayoutPtr layout = intern(on_device(device, false, &backend));
  return layout == host_layout() ? nullptr : layout;
}

}  // namespace

void choose_default(Backend& backend, int device) {
  const LayoutPtr layout = layout_of_choice(backend, device);
  Choices& c = Choices::instance();
  Locked lock(c.mutex);
  DefaultDevice* const before = c.for_all.exchange(c.choose(backend, layout));
  if (before) --before->choices;
  c.is_settled = true;
  c.publish();
}

namespace {

std::atomic<PlatformLoader> g_platform_loader{nullptr};

// Chooses the device that the environment names, once. Loading a platform may read the default
// device, which is the CPU's until then.
void ask_environment() {
  static thread_local bool is_asking = false;
  if (is_asking) return;
  struct Asking {
    Asking() { is_asking = true; }
    ~Asking() { is_asking = false; }
  } const asking;
  static auto* const one_at_a_time = new std::mutex;
  const std::lock_guard lock(*one_at_a_time);
  Choices& c = Choices::instance();
  if (c.is_settled) return;
  const std::string platform = settings::text("TESSERA_PLATFORM");
  if (!platform.empty() && platform != "cpu") {
    const PlatformLoader load = g_platform_loader;
    if (!load)
      Message("environment")
          .problem("TESSERA_PLATFORM is " + platform + ", and this program cannot load platforms")
          .rule("platforms are loaded by the component tessera::platforms")
          .advice("link tessera::platforms, or tessera::tessera, which is all components")
          .raise<DeviceError>();
    Backend& backend = load(platform);
    choose_default(backend, backend.first_local_device());
    return;
  }
  Locked choices(c.mutex);
  c.is_settled = true;
  c.publish();
}

}  // namespace

void set_platform_loader(PlatformLoader loader) { g_platform_loader = loader; }

// Read by its thread without a lock, and changed under the lock of the choices, by any thread that
// ends a scope. Deleted when the thread has ended and its last scope, too.
struct DefaultDeviceScope::Thread {
  std::vector<const DefaultDeviceScope*> open;  // the newest last
  bool ended = false;
  /// The device of the newest scope, or `g_chosen_by_thread` if there is none.
  std::atomic<const DefaultDevice*> device{&g_chosen_by_thread};
};

namespace {

// A plain pointer, because destructors of other thread_local objects may still read it.
thread_local DefaultDeviceScope::Thread* g_this_thread = nullptr;

struct EndOfThread {
  ~EndOfThread() {
    Locked lock(Choices::instance().mutex);
    g_this_thread->ended = true;
    if (g_this_thread->open.empty()) delete g_this_thread;
    g_this_thread = nullptr;
  }
};

DefaultDeviceScope::Thread* this_thread() {
  if (!g_this_thread) {
    g_this_thread = new DefaultDeviceScope::Thread;
    static thread_local EndOfThread end;
  }
  return g_this_thread;
}

}  // namespace

DefaultDeviceScope::DefaultDeviceScope(Backend& backend, int device) : thread_(this_thread()) {
  const LayoutPtr layout = layout_of_choice(backend, device);
  Choices& c = Choices::instance();
  Locked lock(c.mutex);
  thread_->open.reserve(thread_->open.size() + 1);  // so that nothing below throws halfway
  device_ = c.choose(backend, layout);
  thread_->open.push_back(this);
  thread_->device.store(device_, std::memory_order_release);
  ++c.scopes;
  c.publish();
}

DefaultDeviceScope::~DefaultDeviceScope() {
  Choices& c = Choices::instance();
  Locked lock(c.mutex);
  auto& open = thread_->open;
  open.erase(std::find(open.begin(), open.end(), this));
  thread_->device.store(open.empty() ? &g_chosen_by_thread : open.back()->device_,
                        std::memory_order_release);
  if (open.empty() && thread_->ended) delete thread_;
  if (device_) --device_->choices;
  --c.scopes;
  c.publish();
}

const DefaultDevice* DefaultDeviceScope::innermost() {
  if (!Choices::instance().is_settled.load(std::memory_order_acquire)) ask_environment();
  const DefaultDevice* own =
      g_this_thread ? g_this_thread->device.load(std::memory_order_acquire) : &g_chosen_by_thread;
  return own == &g_chosen_by_thread ? Choices::instance().for_all.load(std::memory_order_acquire)
                                    : own;
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
