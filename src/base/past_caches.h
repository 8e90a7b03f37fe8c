// Copies of what nobody reads soon.
#pragma once

#include <cstddef>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>

#include <cstdint>
#endif

namespace tessera::inline v0 {

/// As memcpy, but what is written goes to memory past the caches: a store into a cache reads the
/// line first, a third of what a copy moves, and drives out what is of use. For values that are
/// larger than the caches: whoever reads the result soon reads it from memory. Other threads may
/// be told of it after past_caches_done().
inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % 64;
  if (head < bytes) {
    if (head) std::memcpy(to, from, head);
    std::size_t at = head;
    for (; at + 64 <= bytes; at += 64)  // whole lines, which are written at once
      for (std::size_t k = at; k < at + 64; k += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + k),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
    if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

/// What this thread copied past the caches comes before what it does next.
inline void past_caches_done() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace tessera::inline v0
