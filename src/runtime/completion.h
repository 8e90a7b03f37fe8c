// Operations that complete later: calls and transfers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::inline v0::runtime {

/// Completes once, with success or an error that names the call. Any thread may wait or ask,
/// repeatedly.
class Completion {
 public:
  /// Receives the error, or null. Must not throw, nor take locks that a thread may hold while it
  /// waits.
  using Then = std::function<void(const std::exception_ptr&)>;

  virtual ~Completion() = default;
  /// Waits for completion; throws its error.
  virtual void wait() = 0;
  virtual bool done() const = 0;
  /// Calls `f` on completion: immediately if it has completed, else on the completing thread.
  virtual void then(Then f) = 0;
};

/// A completion that is completed explicitly.
class Event : public Completion {
 public:
  void wait() override;
  bool done() const override { return done_.load(std::memory_order_acquire); }
  void then(Then f) override;
  /// Completes the event; may be called once.
  void end(std::exception_ptr error = nullptr) noexcept;

 private:
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;  // constant once done_ is set
  std::vector<Then> then_;
};

/// Completes when all parts have, with the error of the first part in the list that failed. Null
/// parts count as complete; returns null if all parts are null.
std::shared_ptr<Completion> all_of(std::vector<std::shared_ptr<Completion>> parts);

}  // namespace tessera::inline v0::runtime
