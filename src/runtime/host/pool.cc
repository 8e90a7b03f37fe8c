#include "runtime/host/pool.h"

#include "base/float_mode.h"
#include "base/process.h"
#include "base/settings.h"
#include "processes/processes.h"
#include "runtime/host/sanitizers.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tessera::inline v0::runtime {
namespace {

int initial_worker_count() {
  if (const auto n = settings::number("TESSERA_WORKERS")) return static_cast<int>(*n);
  processes::join();
  return processes::cores();
}

tbb::task_arena& arena() {
  static tbb::task_arena* a =
      new tbb::task_arena(worker_count());  // leaked, because joining threads at exit can deadlock
  return *a;
}

// Whether the system has provided the workers' threads. oneTBB starts them one by one when work
// first arrives, and may not survive if it cannot get one. Therefore as many threads as it needs
// are created on trial first; until that succeeds, loops run without workers.
bool have_workers() {
  static std::atomic<bool> have{false};
  if (have.load(std::memory_order_acquire)) return true;
  static auto* mutex = new std::mutex;
  std::lock_guard lock(*mutex);
  if (have.load(std::memory_order_relaxed)) return true;
  std::vector<std::thread> tried;
  std::atomic<bool> over{false};
  bool enough = true;
  try {
    for (int i = 1; i < worker_count(); ++i) tried.emplace_back([&] { over.wait(false); });
  } catch (const std::system_error&) {
    enough = false;
  }
  over.store(true);
  over.notify_all();
  for (std::thread& t : tried) t.join();
  if (!enough) return false;
  try {
    arena().execute([] { tbb::parallel_for(0, 4 * worker_count(), [](int) {}); });
  } catch (const std::exception&) {
    return false;
  }
  have.store(true, std::memory_order_release);
  return true;
}

}  // namespace

int worker_count() {
  static const int n = initial_worker_count();
  return n;
}

namespace detail {

void parallel_for(std::int64_t n, void (*f)(void*, std::int64_t), void* context) {
  const Inside inside;
  if (worker_count() == 1 || forked() || !Inside::libraries() || !have_workers()) {
    for (std::int64_t i = 0; i < n; ++i) f(context, i);
    return;
  }
  // oneTBB is not instrumented, nor is this file, which inlines it.
  char begin = 0, end = 0;
  sanitizers::release(&begin);
  arena().execute([&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(std::int64_t{0}, n, [&](std::int64_t i) {
        sanitizers::acquire(&begin);
        const OnBehalf caller;
        const ProgramFloats floats;
        f(context, i);
        sanitizers::release(&end);
      });
    });
  });
  sanitizers::acquire(&end);
}

}  // namespace detail
}  // namespace tessera::inline v0::runtime
