// The process's workers: one thread per core, or TESSERA_WORKERS. Workers are independent of
// devices, and all sets of devices share them, because they share the cores.
#pragma once

#include <cstdint>
#include <memory>

namespace tessera::inline v0::runtime {

int worker_count();

namespace detail {
void parallel_for(std::int64_t n, void (*f)(void*, std::int64_t), void* context);
}

/// Calls f(i) for i in [0, n) on the workers and the caller, and returns when all calls have
/// finished. While it waits, the caller runs only tasks of this loop. The first exception is
/// rethrown after the other calls have ended. May be nested.
template <class F>
void parallel_for(std::int64_t n, F&& f) {
  if (n == 1) return f(std::int64_t{0});
  detail::parallel_for(
      n, [](void* c, std::int64_t i) { (*static_cast<std::remove_reference_t<F>*>(c))(i); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace tessera::inline v0::runtime
