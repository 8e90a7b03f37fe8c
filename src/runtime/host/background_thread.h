// A thread that an object which lives as long as the process starts when it first has work for it.
#pragma once

#include "base/process.h"

#include <system_error>
#include <thread>

namespace tessera::inline v0::runtime {

/// Works on behalf of callers that are in an Inside until the work is over, so the end of the
/// process and fork wait for the work. A forked child does not have the thread.
class BackgroundThread {
 public:
  /// Starts the thread, which calls `loop`, unless it runs already. `loop` never returns and uses
  /// only what is never destroyed. Returns false if the system has no thread to spare; the next
  /// call tries again. One caller at a time.
  template <class Loop>
  bool start(Loop loop) {
    if (started_) return true;
    try {
      std::thread([loop] {
        const OnBehalf callers;
        loop();
      }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    return started_ = true;
  }

 private:
  bool started_ = false;
};

}  // namespace tessera::inline v0::runtime
