// Things that end later: calls, and memory on its way.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::inline v0::runtime {

/// Ends once, well or with an error that names the call. Any thread may ask, as often as it likes.
class Completion {
 public:
  /// Gets the error, or null. It takes no locks that a thread holds while it waits, and does not
  /// throw.
  using Then = std::function<void(const std::exception_ptr&)>;

  virtual ~Completion() = default;
  /// Returns when it is over; throws its error.
  virtual void wait() = 0;
  virtual bool done() const = 0;
  /// Calls `f` once it is over: at once where it is already, else on the thread that ends it.
  virtual void then(Then f) = 0;
};

/// A completion that somebody ends by hand.
class Event : public Completion {
 public:
  void wait() override;
  bool done() const override { return done_.load(std::memory_order_acquire); }
  void then(Then f) override;
  /// Once.
  void end(std::exception_ptr error = nullptr) noexcept;

 private:
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;  // not written any more once it is done
  std::vector<Then> then_;
};

/// Over when all parts are, with the error of the first in the list that has one. Null parts are
/// over; null where all parts are null.
std::shared_ptr<Completion> all_of(std::vector<std::shared_ptr<Completion>> parts);

}  // namespace tessera::inline v0::runtime
