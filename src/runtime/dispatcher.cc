#include "runtime/dispatcher.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

namespace tessera::inline v0::runtime {
namespace {

constexpr std::size_t kDepth = 8;

std::atomic<bool> g_forked{false};

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
            .advice("read its results before fork, or fork before the first call")
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
  Dispatcher() {
    std::thread([this] { loop(); }).detach();
    std::atexit([] { instance().drain(); });
  }
  static Dispatcher& instance() {
    static Dispatcher* d = new Dispatcher;  // leaked: its thread ends with the process
    return *d;
  }

  void submit(std::shared_ptr<Call> call) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return queue_.size() < kDepth; });
    queue_.push_back(std::move(call));
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    work_.notify_one();
  }
  int in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  void drain() {
    if (std::this_thread::get_id() == thread_ || forked()) return;
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return in_flight_.load() == 0; });
  }

 private:
  void loop() {
    thread_ = std::this_thread::get_id();
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

  std::mutex mutex_;
  std::condition_variable work_, room_, idle_;
  std::deque<std::shared_ptr<Call>> queue_;
  std::atomic<int> in_flight_{0};
  std::thread::id thread_;
};

std::atomic<bool> g_used{false};

}  // namespace

std::shared_ptr<Completion> dispatch_async(const std::string& name, std::function<void()> work) {
  auto call = std::make_shared<Call>(name, std::move(work));
  if (forked()) {
    call->run();
    return call;
  }
  g_used.store(true, std::memory_order_relaxed);
  Dispatcher::instance().submit(call);
  return call;
}

int calls_in_flight() {
  return g_used.load(std::memory_order_relaxed) && !forked() ? Dispatcher::instance().in_flight()
                                                             : 0;
}

bool forked() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { g_forked.store(true); });
  (void)registered;
  return g_forked.load(std::memory_order_relaxed);
}

}  // namespace tessera::inline v0::runtime
