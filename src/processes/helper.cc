#include "processes/helper.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace tessera::inline v0::processes {
namespace {

struct Helper {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work;  // empty: idle
  bool over = false;
  bool lost = false;
  std::exception_ptr error;

  // All signals are blocked, so that the program's handlers run on its own threads.
  Helper() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
      std::thread([this] { serve(); }).detach();
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return static_cast<bool>(work); });
      const std::function<void()> now = std::exchange(work, nullptr);
      lock.unlock();
      std::exception_ptr thrown;
      try {
        now();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      error = thrown;
      over = true;
      changed.notify_all();
    }
  }
};

}  // namespace

bool run_within(double seconds, std::function<void()> work) {
  static auto* const helper = new Helper;  // never destroyed
  static std::mutex one_at_a_time;
  const std::lock_guard turn(one_at_a_time);
  std::unique_lock lock(helper->mutex);
  if (helper->lost) return false;
  helper->over = false;
  helper->work = std::move(work);
  helper->changed.notify_all();
  constexpr double kForEver = 1e9;
  const std::chrono::duration<double> at_most(std::min(seconds, kForEver));
  if (!helper->changed.wait_for(lock, at_most, [&] { return helper->over; })) {
    helper->lost = true;
    return false;
  }
  if (helper->error) std::rethrow_exception(std::exchange(helper->error, nullptr));
  return true;
}

}  // namespace tessera::inline v0::processes
