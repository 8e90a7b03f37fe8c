#include "runtime/host/dispatcher.h"

#include "base/message.h"
#include "base/process.h"
#include "ir/callback.h"
#include "runtime/host/background_thread.h"
#include "runtime/turns.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace tessera::inline v0::runtime {
namespace {

constexpr std::size_t kDepth = 8;

class Call : public Event {
 public:
  Call(std::string name, std::function<void()> work)
      : name_(std::move(name)), work_(std::move(work)) {}

  std::optional<Turn> turn;

  void run() noexcept {
    if (turn) turn->wait();
    std::exception_ptr error;
    try {
      work_();
    } catch (...) {
      error = named(std::current_exception());
    }
    work_ = nullptr;  // releases the inputs before anyone sees that the call is over
    turn.reset();
    end(std::move(error));
  }

  void wait() override {
    if (!done() && forked())
      Message(name_)
          .problem("the call was under way when the process forked, and the child cannot finish it")
          .rule("fork waits for calls under way, but not for the call that forks")
          .advice("fork outside of the library's functions")
          .raise<Error>();
    // This call may be queued behind the call that runs the callback.
    if (!done() && InCallback::is())
      Message(name_)
          .problem("a handler of prints waits for the call")
          .rule("handlers run in the middle of a call, and others wait until it is over")
          .advice("keep what is printed, and compute with it outside")
          .raise<Error>();
    Event::wait();
  }

 private:
  // Adds the call's name to an error of ours, keeping its type.
  std::exception_ptr named(const std::exception_ptr& error) const {
    std::exception_ptr named;
    if (rename<ShapeError>(error, named) || rename<CollectiveError>(error, named) ||
        rename<ShardingError>(error, named) || rename<DeviceError>(error, named) ||
        rename<CheckError>(error, named) || rename<Error>(error, named))
      return named;
    return error;
  }
  template <class E>
  bool rename(const std::exception_ptr& error, std::exception_ptr& named) const {
    try {
      std::rethrow_exception(error);
    } catch (const E& e) {
      ErrorParts parts = e.parts();
      parts.calls.insert(parts.calls.begin(), name_);
      named = std::make_exception_ptr(E(std::move(parts)));
      return true;
    } catch (...) {
      return false;
    }
  }

  std::string name_;
  std::function<void()> work_;
};

class Dispatcher {
 public:
  static Dispatcher& instance() {
    static Dispatcher* d = [] {
      auto* made = new Dispatcher;  // leaked: its thread ends with the process
      wait_at_the_end_for([] { instance().drain(); });
      return made;
    }();
    return *d;
  }

  /// Returns false if there is no thread to run it. Turns are taken under the lock, so that calls
  /// are queued in the order of their turns.
  bool submit(const std::shared_ptr<Call>& call, Turns* turns) {
    std::unique_lock lock(mutex_);
    if (!thread_.start([this] { loop(); })) return false;
    room_.wait(lock, [&] { return queue_.size() < kDepth; });
    queue_.push_back(call);
    if (turns) call->turn.emplace(turns->behind_all());
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    work_.notify_one();
    return true;
  }
  int in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  void drain() {
    if (g_is_dispatcher || forked()) return;
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return in_flight_.load() == 0; });
  }

 private:
  void loop() {
    g_is_dispatcher = true;
    for (;;) {
      std::shared_ptr<Call> call;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [&] { return !queue_.empty(); });
        call = std::move(queue_.front());
        queue_.pop_front();
      }
      room_.notify_one();
      call->run();
      call = nullptr;
      {
        std::lock_guard lock(mutex_);
        in_flight_.fetch_sub(1, std::memory_order_relaxed);
      }
      idle_.notify_all();
    }
  }

  static thread_local bool g_is_dispatcher;
  std::mutex mutex_;
  std::condition_variable work_, room_, idle_;
  std::deque<std::shared_ptr<Call>> queue_;
  std::atomic<int> in_flight_{0};
  BackgroundThread thread_;
};
thread_local bool Dispatcher::g_is_dispatcher = false;

std::atomic<bool> g_used{false};

}  // namespace

std::shared_ptr<Completion> dispatch_async(const std::string& name, std::function<void()> work,
                                           Turns* turns) {
  auto call = std::make_shared<Call>(name, std::move(work));
  g_used.store(true, std::memory_order_relaxed);
  if (forked() || !Inside::libraries() || !Dispatcher::instance().submit(call, turns)) {
    Dispatcher::instance().drain();
    if (turns) call->turn.emplace(turns->behind_all());
    call->run();
  }
  return call;
}

int calls_in_flight() {
  return g_used.load(std::memory_order_relaxed) && !forked() ? Dispatcher::instance().in_flight()
                                                             : 0;
}

void wait_for_calls() {
  if (calls_in_flight() > 0) Dispatcher::instance().drain();
}

}  // namespace tessera::inline v0::runtime
