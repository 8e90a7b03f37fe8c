// Informs the address and thread sanitizers of what they cannot see: free blocks in the pool, and
// memory accesses of compiled kernels and libraries. Does nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TESSERA_ASAN 1
#elif __has_feature(thread_sanitizer)
#define TESSERA_TSAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TESSERA_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define TESSERA_TSAN 1
#endif

#if defined(TESSERA_ASAN)
extern "C" {
void __asan_poison_memory_region(const volatile void*, std::size_t);
void __asan_unpoison_memory_region(const volatile void*, std::size_t);
void* __asan_region_is_poisoned(void*, std::size_t);
}
#elif defined(TESSERA_TSAN)
extern "C" {
void __tsan_read_range(void*, unsigned long);
void __tsan_write_range(void*, unsigned long);
void __tsan_acquire(void*);
void __tsan_release(void*);
}
#endif

namespace tessera::inline v0::runtime::sanitizers {

#if defined(TESSERA_ASAN) || defined(TESSERA_TSAN)
inline constexpr bool kWatching = true;
#else
inline constexpr bool kWatching = false;
#endif

/// A block was returned: accessing it is an error until it is allocated again.
inline void given_back([[maybe_unused]] void* p, [[maybe_unused]] std::size_t capacity) {
#ifdef TESSERA_ASAN
  __asan_poison_memory_region(p, capacity);
#endif
}
/// The first `bytes` of a block were allocated; accessing the rest stays an error.
inline void given_out([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes,
                      [[maybe_unused]] std::size_t capacity) {
#ifdef TESSERA_ASAN
  __asan_poison_memory_region(p, capacity);
  __asan_unpoison_memory_region(p, bytes);
#endif
}

/// Uninstrumented code is about to read `bytes` at `p`.
inline void reads([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(TESSERA_ASAN)
  if (auto* bad =
          static_cast<volatile char*>(__asan_region_is_poisoned(const_cast<void*>(p), bytes)))
    (void)*bad;  // triggers the sanitizer's report
#elif defined(TESSERA_TSAN)
  __tsan_read_range(const_cast<void*>(p), bytes);
#endif
}
/// Uninstrumented code is about to write `bytes` at `p`.
inline void writes([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(TESSERA_ASAN)
  reads(p, bytes);
#elif defined(TESSERA_TSAN)
  __tsan_write_range(p, bytes);
#endif
}

/// Whatever happened before release(p) on any thread happens before acquire(p) returns. Declares an
/// edge made by an uninstrumented library.
inline void release([[maybe_unused]] void* p) {
#ifdef TESSERA_TSAN
  __tsan_release(p);
#endif
}
inline void acquire([[maybe_unused]] void* p) {
#ifdef TESSERA_TSAN
  __tsan_acquire(p);
#endif
}

}  // namespace tessera::inline v0::runtime::sanitizers
