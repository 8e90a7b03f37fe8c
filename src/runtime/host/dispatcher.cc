#include "runtime/host/dispatcher.h"

#include "base/message.h"
#include "base/process.h"
#include "ir/callback.h"
#include "runtime/host/background_thread.h"
#include "runtime/turns.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

namespace tessera::inline v0::runtime {
namespace {

constexpr std::size_t kDepth = 8;

// How long a host function may take before later calls overtake the one that calls it.
constexpr std::chrono::milliseconds kPatience(20);

class Call : public Event {
 public:
  Call(std::string name, std::function<void()> work, std::function<bool()> may_overtake)
      : name_(std::move(name)), work_(std::move(work)), may_overtake_(std::move(may_overtake)) {}

  std::optional<Turn> turn;
  std::uint64_t number = 0;  // in the order in which calls were queued

  /// Whether the call may run before calls that were queued earlier.
  bool may_overtake() const { return !turn && may_overtake_ && may_overtake_(); }

  void run() noexcept {
    if (turn) turn->wait();
    std::exception_ptr error;
    try {
      work_();
    } catch (...) {
      error = named(std::current_exception());
    }
    may_overtake_ = nullptr;
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
    // This call may be queued after the call that runs the callback.
    if (!done() && !InCallback::may_compute())
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
  std::function<bool()> may_overtake_;
};

class Dispatcher {
 public:
  static Dispatcher& instance() {
    static Dispatcher* d = [] {
      auto* made = new Dispatcher;  // leaked: its threads end with the process
      wait_at_the_end_for([] { instance().drain(); });
      InCallback::set_watch([](bool begins) { instance().watch(begins); });
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
    call->number = next_++;
    unfinished_.insert(call->number);
    if (turns) call->turn.emplace(turns->behind_all());
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    if (InCallback::functions() > 0) have_helper();
    lock.unlock();
    work_.notify_one();
    return true;
  }
  int in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  /// Waits for the calls that are queued now. Other threads may continue to queue new ones.
  void drain() {
    if (g_is_dispatcher || InCallback::is() || forked()) return;
    std::unique_lock lock(mutex_);
    const std::uint64_t next = next_;
    finished_.wait(lock, [&] { return unfinished_.empty() || *unfinished_.begin() >= next; });
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
      finish(std::move(call));
    }
  }
  void finish(std::shared_ptr<Call> call) {
    call->run();
    const std::uint64_t number = call->number;
    call = nullptr;
    {
      std::lock_guard lock(mutex_);
      unfinished_.erase(number);
      in_flight_.fetch_sub(1, std::memory_order_relaxed);
    }
    finished_.notify_all();
  }

  // A host function may wait for a thread that waits for a call which is queued after the one that
  // called the function. So if a function takes long, helper threads run calls that may overtake.
  void watch(bool begins) {
    functions_seen_.fetch_add(1, std::memory_order_relaxed);
    if (!begins) return;
    const std::lock_guard lock(mutex_);
    if (!queue_.empty()) have_helper();
  }
  // Requires the lock. A helper that runs a call may be blocked like the others.
  void have_helper() {
    if (helpers_ > busy_helpers_) return help_.notify_one();
    try {
      std::thread([this] {
        const OnBehalf callers;
        help();
      }).detach();
      ++helpers_;
    } catch (const std::system_error&) {
      // The calls run in their order.
    }
  }
  [[noreturn]] void help() {
    g_is_dispatcher = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      help_.wait(lock, [&] { return InCallback::functions() > 0 && !queue_.empty(); });
      const std::int64_t seen = functions_seen_.load(std::memory_order_relaxed);
      help_.wait_for(lock, kPatience, [&] { return queue_.empty(); });
      if (functions_seen_.load(std::memory_order_relaxed) != seen) continue;
      const auto it = std::find_if(queue_.begin(), queue_.end(),
                                   [](const auto& call) { return call->may_overtake(); });
      if (it == queue_.end()) continue;
      std::shared_ptr<Call> call = std::move(*it);
      queue_.erase(it);
      ++busy_helpers_;
      lock.unlock();
      room_.notify_one();
      finish(std::move(call));
      lock.lock();
      --busy_helpers_;
    }
  }

  static thread_local bool g_is_dispatcher;
  std::mutex mutex_;
  std::condition_variable work_, room_, finished_, help_;
  std::deque<std::shared_ptr<Call>> queue_;
  std::uint64_t next_ = 0;
  std::set<std::uint64_t> unfinished_;  // queued or running: helpers finish them in another order
  std::atomic<int> in_flight_{0};
  BackgroundThread thread_;
  int helpers_ = 0, busy_helpers_ = 0;
  std::atomic<std::int64_t> functions_seen_{0};  // how many began and ended
};
thread_local bool Dispatcher::g_is_dispatcher = false;

std::atomic<bool> g_used{false};

}  // namespace

std::shared_ptr<Completion> dispatch_async(const std::string& name, std::function<void()> work,
                                           Turns* turns, std::function<bool()> may_overtake) {
  auto call = std::make_shared<Call>(name, std::move(work), std::move(may_overtake));
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
