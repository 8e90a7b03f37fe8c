// Communication that goes on while its caller computes.
#pragma once

#include <exception>
#include <functional>

namespace tessera::inline v0::runtime {

/// Runs something on the thread that is for communication; one at a time, which is what calls that
/// communicate are (turns.h). Where the system has no such thread to give, in a child of fork and
/// once the process has begun to end it runs at once. To be made inside (base/process.h).
class Beside {
 public:
  explicit Beside(std::function<void()> work);
  /// Waits until it is over. An exception that nobody has waited for is forgotten: another one is
  /// under way.
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  /// Returns when it is over; rethrows its exception, once.
  void wait();

 private:
  friend class Communicator;
  std::function<void()> work_;
  std::exception_ptr error_;
  bool handed_over_ = false, over_ = false;
};

}  // namespace tessera::inline v0::runtime
