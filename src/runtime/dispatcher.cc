#include "runtime/dispatcher.h"

#include "base/process.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace tessera::inline v0::runtime {
namespace {

constexpr std::size_t kDepth = 8;

class Call : public Completion {
 public:
  Call(std::string name, std::function<void()> work)
      : name_(std::move(name)), work_(std::move(work)) {}

  void run() noexcept {
    std::exception_ptr error;
    try {
      work_();
    } catch (...) {
      error = std::current_exception();
    }
    work_ = nullptr;  // lets go of the inputs before anyone learns that it is over
    {
      std::lock_guard lock(mutex_);
      error_ = std::move(error);
      done_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
  }

  void wait() override {
    if (!done_.load(std::memory_order_acquire)) {
      if (forked())
        Message(name_)
            .problem(
                "the call was under way when the process forked, and the child cannot finish it")
            .rule("fork waits for calls under way, but not for the call that forks")
            .advice("fork outside of the library's functions")
            .raise<Error>();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return done_.load(std::memory_order_relaxed); });
    }
    if (error_) rethrow();
  }
  bool done() const override { return done_.load(std::memory_order_acquire); }

 private:
  // The same type as thrown, with the call's name, where it is one of ours.
  template <class E>
  void rethrow_as() {
    try {
      std::rethrow_exception(error_);
    } catch (const E& e) {
      throw E("in the call of '" + name_ + "', which ran asynchronously:\n" + e.what());
    } catch (...) {
    }
  }
  void rethrow() {
    rethrow_as<ShapeError>();
    rethrow_as<CollectiveError>();
    rethrow_as<ShardingError>();
    rethrow_as<DeviceError>();
    rethrow_as<Error>();
    std::rethrow_exception(error_);
  }

  std::string name_;
  std::function<void()> work_;
  std::exception_ptr error_;
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
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

  /// False where there is no thread to run it.
  bool submit(const std::shared_ptr<Call>& call) {
    std::unique_lock lock(mutex_);
    if (!started_ && !start()) return false;
    room_.wait(lock, [&] { return queue_.size() < kDepth; });
    queue_.push_back(call);
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
  // The system may have no thread now and one later.
  bool start() {
    try {
      std::thread([this] { loop(); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    return started_ = true;
  }
  void loop() {
    g_is_dispatcher = true;
    const OnBehalf callers;
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
  bool started_ = false;
};
thread_local bool Dispatcher::g_is_dispatcher = false;

std::atomic<bool> g_used{false};

}  // namespace

std::shared_ptr<Completion> dispatch_async(const std::string& name, std::function<void()> work) {
  auto call = std::make_shared<Call>(name, std::move(work));
  g_used.store(true, std::memory_order_relaxed);
  if (forked() || !Inside::libraries() || !Dispatcher::instance().submit(call)) {
    Dispatcher::instance().drain();
    call->run();
  }
  return call;
}

int calls_in_flight() {
  return g_used.load(std::memory_order_relaxed) && !forked() ? Dispatcher::instance().in_flight()
                                                             : 0;
}

}  // namespace tessera::inline v0::runtime
