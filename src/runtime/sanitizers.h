// Tells the address and thread sanitizers what they cannot see: blocks of the pool that nobody
// holds, and memory that compiled kernels and libraries work on. Nothing in other builds.
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

/// A block was given back: touching it is an error until it is given out.
inline void given_back([[maybe_unused]] void* p, [[maybe_unused]] std::size_t capacity) {
#ifdef TESSERA_ASAN
  __asan_poison_memory_region(p, capacity);
#endif
}
/// The first `bytes` of a block were given out; touching the rest stays an error.
inline void given_out([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes,
                      [[maybe_unused]] std::size_t capacity) {
#ifdef TESSERA_ASAN
  __asan_poison_memory_region(p, capacity);
  __asan_unpoison_memory_region(p, bytes);
#endif
}

/// Code that is not instrumented is about to read `bytes` at `p`.
inline void reads([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(TESSERA_ASAN)
  if (auto* bad =
          static_cast<volatile char*>(__asan_region_is_poisoned(const_cast<void*>(p), bytes)))
    (void)*bad;  // the report is the sanitizer's
#elif defined(TESSERA_TSAN)
  __tsan_read_range(const_cast<void*>(p), bytes);
#endif
}
/// Code that is not instrumented is about to write them.
inline void writes([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(TESSERA_ASAN)
  reads(p, bytes);
#elif defined(TESSERA_TSAN)
  __tsan_write_range(p, bytes);
#endif
}

/// What happened before release(p) on any thread happened before acquire(p) returned: an edge that
/// a library makes which is not instrumented.
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
