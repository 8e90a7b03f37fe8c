// Copies that bypass the caches, for data that is not read soon.
#pragma once

#include <cstddef>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>

#include <cstdint>
#endif

namespace tessera::inline v0 {

/// Like memcpy, but writes past the caches. A store into a cache first reads the line, a third of
/// the traffic of a copy, and evicts useful data. This suits values larger than the caches; a
/// reader that follows soon must fetch the result from memory. Other threads may be told about the
/// result only after past_caches_done().
inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % 64;
  if (head < bytes) {
    if (head) std::memcpy(to, from, head);
    std::size_t at = head;
    for (; at + 64 <= bytes; at += 64)  // whole lines, each written at once
      for (std::size_t k = at; k < at + 64; k += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + k),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
    if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

/// Orders this thread's copies past the caches before its later stores.
inline void past_caches_done() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace tessera::inline v0
