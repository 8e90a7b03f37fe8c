#include "runtime/ending.h"

#include <unistd.h>

#include <atomic>

namespace tessera::inline v0::runtime {
namespace {

std::atomic<bool> ending{false};

// A thread's variables go before those of static storage.
struct Watch {
  ~Watch() {
    if (::gettid() == ::getpid()) ending.store(true, std::memory_order_relaxed);
  }
};

}  // namespace

bool process_is_ending() { return ending.load(std::memory_order_relaxed); }

void watch_for_the_end() {
  static thread_local const Watch watch;
  (void)watch;
}

}  // namespace tessera::inline v0::runtime
