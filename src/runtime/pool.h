// The process's workers: as many threads as cores (TESSERA_WORKERS changes it), none of them stands
// for a device.
#pragma once

#include <cstdint>
#include <memory>

namespace tessera::inline v0::runtime {

int worker_count();

namespace detail {
void parallel_for(std::int64_t n, void (*f)(void*, std::int64_t), void* context);
}

/// Calls f(i) for i in [0, n) on the workers and the caller, and returns when all are done. A
/// caller that waits runs tasks of this loop only, never someone else's. The first exception is
/// rethrown once the others have ended. May be nested.
template <class F>
void parallel_for(std::int64_t n, F&& f) {
  if (n == 1) return f(std::int64_t{0});
  detail::parallel_for(
      n, [](void* c, std::int64_t i) { (*static_cast<std::remove_reference_t<F>*>(c))(i); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace tessera::inline v0::runtime
