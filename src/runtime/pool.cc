#include "runtime/pool.h"

#include "base/process.h"
#include "base/settings.h"
#include "runtime/sanitizers.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <sched.h>

#include <algorithm>

namespace tessera::inline v0::runtime {
namespace {

int initial_worker_count() {
  if (const auto n = settings::number("TESSERA_WORKERS")) return static_cast<int>(*n);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

tbb::task_arena& arena() {
  static tbb::task_arena* a =
      new tbb::task_arena(worker_count());  // leaked: joined threads at exit can deadlock
  return *a;
}

}  // namespace

int worker_count() {
  static const int n = initial_worker_count();
  return n;
}

namespace detail {

void parallel_for(std::int64_t n, void (*f)(void*, std::int64_t), void* context) {
  const Inside inside;
  if (worker_count() == 1 || forked() || !Inside::libraries()) {
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
        f(context, i);
        sanitizers::release(&end);
      });
    });
  });
  sanitizers::acquire(&end);
}

}  // namespace detail
}  // namespace tessera::inline v0::runtime
