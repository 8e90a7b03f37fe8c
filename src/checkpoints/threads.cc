#include "checkpoints/threads.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
#include <vector>

namespace tessera::inline v0::checkpoints {
namespace {

// A few threads saturate a disk, and the program needs the cores.
constexpr std::size_t kMost = 8;

}  // namespace

std::thread quiet_thread(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  // A new thread inherits the signal mask of its creator.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread made(std::move(work));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

std::size_t thread_count() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMost);
}

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&] {
    for (std::size_t i; !failed.load() && (i = next.fetch_add(1)) < count;) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        failed.store(true);
      }
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(count, thread_count()); ++i) {
    try {
      others.push_back(quiet_thread(run));
    } catch (const std::system_error&) {
      break;  // continue with fewer threads
    }
  }
  run();
  for (std::thread& t : others) t.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace tessera::inline v0::checkpoints
