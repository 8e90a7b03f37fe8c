// Copies of what nobody reads soon.
#pragma once

#include <cstddef>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>

#include <cstdint>
#endif

namespace tessera::inline v0::runtime {

/// As memcpy, but what is written goes to memory past the caches: a store into a cache reads the
/// line first, a third of what a copy moves, and drives out what is of use. For values that are
/// larger than the caches: whoever reads the result soon reads it from memory.
inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % 64;
  if (head < bytes) {
    std::memcpy(to, from, head);
    std::size_t at = head;
    for (; at + 64 <= bytes; at += 64)  // whole lines, which are written at once
      for (std::size_t k = at; k < at + 64; k += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + k),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
    std::memcpy(to + at, from + at, bytes - at);
    _mm_sfence();  // before anybody is told that it is there
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace tessera::inline v0::runtime
