#include "codegen/calls/blas.h"

#include <cblas.h>

#include <dlfcn.h>
#include <sys/resource.h>

#include <cstdlib>
#include <mutex>

namespace tessera::inline v0::codegen {
namespace {
std::mutex mutex;
int inside = 0, before = 1;

bool is_limited(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// OpenBLAS starts threads when it is loaded and waits for them at process exit. If memory is
// limited, a thread that cannot allocate its 128 MB buffer retries forever, and the process would
// never end. Clearing blas_server_avail makes OpenBLAS believe that it has no threads, so that it
// does not wait; idle threads end with the process.
[[maybe_unused]] const bool g_ends = [] {
  if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA))
    std::atexit([] {
      if (auto* threads = static_cast<int*>(::dlsym(RTLD_DEFAULT, "blas_server_avail")))
        *threads = 0;
    });
  return true;
}();
}  // namespace

OneThread::OneThread() {
  std::lock_guard lock(mutex);
  if (inside++ == 0) {
    before = openblas_get_num_threads();
    if (before != 1) openblas_set_num_threads(1);
  }
}
OneThread::~OneThread() {
  std::lock_guard lock(mutex);
  if (--inside == 0 && before != 1) openblas_set_num_threads(before);
}

}  // namespace tessera::inline v0::codegen
