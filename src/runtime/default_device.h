// The default device: new arrays are placed on it, and programs run on its platform unless an input
// is committed elsewhere.
//
// It is the CPU's first device of this process, or the first one of the platform that
// TESSERA_PLATFORM names, until another one is chosen, for all threads or for one. Every eager call
// reads it, so reading costs one atomic load unless some thread has chosen its own.
#pragma once

#include "runtime/array_data.h"

#include <atomic>
#include <string>

namespace tessera::inline v0::runtime {

/// A device that has been chosen as the default. There is one object per device, and it lives as
/// long as the process.
struct DefaultDevice {
  Backend* backend;
  int id;
  LayoutPtr layout;  // of a whole array on it, uncommitted
  int choices = 0;   // how often it is chosen now; guarded by the lock of all choices
};

/// Chooses a device of this process for all threads that have not chosen their own.
void choose_default(Backend& backend, int device);

/// Chooses a device of this process for this thread and the lifetime of the object. The newest of a
/// thread's scopes counts. They may end in any order, and on other threads.
class DefaultDeviceScope {
 public:
  /// The scopes of one thread.
  struct Thread;

  DefaultDeviceScope(Backend& backend, int device);
  ~DefaultDeviceScope();
  DefaultDeviceScope(const DefaultDeviceScope&) = delete;
  DefaultDeviceScope& operator=(const DefaultDeviceScope&) = delete;

  /// The choice of this thread's innermost scope or, outside scopes, that for all threads.
  static const DefaultDevice* innermost();

 private:
  DefaultDevice* device_ = nullptr;  // null: the CPU's first device of this process
  Thread* thread_;
};

/// Loads the platform that TESSERA_PLATFORM names. Programs that can load platforms have such a
/// function; it is set before main.
using PlatformLoader = Backend& (*)(const std::string& platform);
void set_platform_loader(PlatformLoader loader);

/// The device that is chosen for all threads, or `g_chosen_by_thread` while there are scopes, and
/// until the environment has been asked.
extern std::atomic<const DefaultDevice*> g_chosen;
extern const DefaultDevice g_chosen_by_thread;

/// The default of this thread; null: the CPU's first device of this process.
inline const DefaultDevice* chosen_default() {
  const DefaultDevice* d = g_chosen.load(std::memory_order_acquire);
  return d == &g_chosen_by_thread ? DefaultDeviceScope::innermost() : d;
}
/// The platform of the default device.
inline Backend& default_backend() {
  static Backend* const host = &host_backend();
  const DefaultDevice* d = chosen_default();
  return d ? *d->backend : *host;
}
/// The layout of new arrays: the default device, uncommitted.
LayoutPtr default_layout();
/// The layout of results on `backend` of a program without committed inputs: the default device or,
/// if that is on another platform, the backend's first device of this process; uncommitted.
LayoutPtr uncommitted_layout(Backend& backend);

/// The highest id of the platform's devices that some thread has chosen; -1 if there is none.
int last_chosen_device(const Backend& backend);

}  // namespace tessera::inline v0::runtime
