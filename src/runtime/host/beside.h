// Communication that overlaps the caller's computation.
#pragma once

#include <exception>
#include <functional>

namespace tessera::inline v0::runtime {

/// Runs `work` on the communication thread, one piece at a time, as calls that communicate do
/// (turns.h). If that thread cannot be created, in a forked child, and once the process has begun
/// to end, `work` runs immediately in the constructor. Requires an Inside (base/process.h).
class Beside {
 public:
  explicit Beside(std::function<void()> work);
  /// Waits for completion. An exception that nobody has waited for is dropped, because another one
  /// is propagating.
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  /// Waits for completion; rethrows the exception of `work`, once.
  void wait();

 private:
  friend class Communicator;
  std::function<void()> work_;
  std::exception_ptr error_;
  bool handed_over_ = false, over_ = false;
};

}  // namespace tessera::inline v0::runtime
