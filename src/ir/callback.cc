#include "ir/callback.h"

#include <atomic>
#include <utility>

namespace tessera::inline v0 {

namespace {
std::atomic<int> g_functions{0};
std::atomic<void (*)(bool)> g_watch{nullptr};
}  // namespace

thread_local constinit bool InCallback::inside_ = false;
thread_local constinit InCallback::Kind InCallback::kind_ = InCallback::report;

InCallback::InCallback(Kind kind)
    : inside_before_(std::exchange(inside_, true)), kind_before_(std::exchange(kind_, kind)) {
  if (kind != function) return;
  g_functions.fetch_add(1);
  if (const auto watch = g_watch.load()) watch(true);
}

InCallback::~InCallback() {
  if (kind_ == function) {
    g_functions.fetch_sub(1);
    if (const auto watch = g_watch.load()) watch(false);
  }
  inside_ = inside_before_;
  kind_ = kind_before_;
}

int InCallback::functions() { return g_functions.load(); }
void InCallback::set_watch(void (*watch)(bool)) { g_watch.store(watch); }

}  // namespace tessera::inline v0
