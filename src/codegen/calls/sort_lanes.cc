// The network is Batcher's bitonic one (1968), in which all comparisons put the smaller element
// first: two sorted halves are merged by comparing the elements from the outside inwards, and then
// those at half that distance, and so on down to neighbours. Missing elements past the end would be
// greater than all others and would never move, so comparisons with them are omitted.
#include "codegen/calls/sort_lanes.h"

#include "codegen/calls/fft_squares.h"
#include "codegen/kernel/isa.h"

#include <algorithm>
#include <type_traits>

namespace tessera::inline v0::codegen {
namespace {

#define INLINE [[gnu::always_inline]] inline

template <class E, int bytes>
struct SortLanes {
  using Signed = std::conditional_t<sizeof(E) == 4, std::int32_t, std::int64_t>;
  typedef Signed Vector __attribute__((vector_size(bytes), may_alias));
  /// Elements of a column that registers hold at once.
  static constexpr std::int64_t kBlock = bytes == 64 ? 16 : 8;

  INLINE static void exchange(Vector& a, Vector& b) {
    const Vector low = a < b ? a : b, high = a < b ? b : a;
    a = low;
    b = high;
  }

  // Compares elements `distance` apart, in blocks of 2 * distance, among the `size` elements in
  // registers.
  template <int size, int distance>
  INLINE static void clean(Vector* v) {
    if constexpr (distance > 0) {
#pragma GCC unroll 16
      for (int i = 0; i < size; ++i)
        if (!(i & distance)) exchange(v[i], v[i + distance]);
      clean<size, distance / 2>(v);
    }
  }
  template <int size, int half>
  INLINE static void merge(Vector* v) {
#pragma GCC unroll 16
    for (int i = 0; i < size; ++i)
      if (!(i & half)) exchange(v[i], v[i ^ (2 * half - 1)]);
    clean<size, half / 2>(v);
  }
  template <int size, int half>
  INLINE static void sort(Vector* v) {
    if constexpr (half < size) {
      merge<size, half>(v);
      sort<size, half * 2>(v);
    }
  }

  template <class F>
  INLINE static void in_registers(Vector* x, F&& f) {
    Vector v[kBlock];
#pragma GCC unroll 16
    for (int i = 0; i < kBlock; ++i) v[i] = x[i];
    f(v);
#pragma GCC unroll 16
    for (int i = 0; i < kBlock; ++i) x[i] = v[i];
  }

  INLINE static void clean_range(Vector* x, std::int64_t count, std::int64_t distance) {
    for (; distance > 0; distance /= 2)
      for (std::int64_t at = 0; at + distance < count; at += 2 * distance)
        for (std::int64_t i = at; i < at + distance && i + distance < count; ++i)
          exchange(x[i], x[i + distance]);
  }
  INLINE static void merge_range(Vector* x, std::int64_t count, std::int64_t half) {
    for (std::int64_t i = std::max<std::int64_t>(0, 2 * half - count); i < half; ++i)
      exchange(x[i], x[2 * half - 1 - i]);
  }

  INLINE static void sort_block(Vector* x, std::int64_t count) {
    if (count == kBlock)
      return in_registers(
          x, [](Vector * v) __attribute__((always_inline)) { sort<kBlock, 1>(v); });
    for (std::int64_t half = 1; half < count; half *= 2)
      for (std::int64_t at = 0; at + half < count; at += 2 * half) {
        const std::int64_t here = std::min(count - at, 2 * half);
        merge_range(x + at, here, half);
        clean_range(x + at, here, half / 2);
      }
  }

  // Merges the sorted halves of `count` elements, of which the first has `half`, at least a block.
  INLINE static void merge_halves(Vector* x, std::int64_t count, std::int64_t half) {
    merge_range(x, count, half);
    std::int64_t distance = half / 2;
    for (; distance >= 2 * kBlock; distance /= 4) {
      const std::int64_t near = distance / 2, whole = count / (2 * distance) * (2 * distance);
      for (std::int64_t at = 0; at < whole; at += 2 * distance)
        for (std::int64_t i = at; i < at + near; ++i) {
          Vector a = x[i], b = x[i + near], c = x[i + distance], d = x[i + distance + near];
          exchange(a, c);
          exchange(b, d);
          exchange(a, b);
          exchange(c, d);
          x[i] = a;
          x[i + near] = b;
          x[i + distance] = c;
          x[i + distance + near] = d;
        }
      for (const std::int64_t apart : {distance, near})
        for (std::int64_t at = whole; at + apart < count; at += 2 * apart)
          for (std::int64_t i = at; i < at + apart && i + apart < count; ++i)
            exchange(x[i], x[i + apart]);
    }
    for (; distance >= kBlock; distance /= 2)
      for (std::int64_t at = 0; at + distance < count; at += 2 * distance)
        for (std::int64_t i = at; i < at + distance && i + distance < count; ++i)
          exchange(x[i], x[i + distance]);
    std::int64_t at = 0;
    for (; at + kBlock <= count; at += kBlock)
      in_registers(
          x + at, [](Vector * v) __attribute__((always_inline)) { clean<kBlock, kBlock / 2>(v); });
    clean_range(x + at, count - at, kBlock / 2);
  }

  INLINE static void run(E* elements, std::int64_t n) {
    auto* x = reinterpret_cast<Vector*>(elements);
    // Each block is sorted and merged with the blocks before it while both are in a cache.
    for (std::int64_t end = kBlock; end - kBlock < n; end += kBlock) {
      sort_block(x + end - kBlock, std::min(kBlock, n - end + kBlock));
      for (std::int64_t half = kBlock; end % (2 * half) == 0; half *= 2)
        merge_halves(x + end - 2 * half, std::min(2 * half, n - end + 2 * half), half);
    }
    // The last blocks, whose number is not a power of two.
    const std::int64_t blocks = (n + kBlock - 1) / kBlock;
    for (std::int64_t half = 1; half < blocks; half *= 2) {
      const std::int64_t at = blocks / (2 * half) * (2 * half);
      if (at + half < blocks && blocks % (2 * half) != 0)
        merge_halves(x + at * kBlock, n - at * kBlock, half * kBlock);
    }
  }
};

// Squares are transposed in registers. Their elements are only moved, so integers may be treated as
// floats.
template <class E, int bytes>
struct TurnLanes {
  using Square = codegen::Square<std::conditional_t<sizeof(E) == 4, float, double>, bytes>;
  using Vector = typename SortLanes<E, bytes>::Vector;
  static constexpr std::int64_t kLanes = Square::kRows;
  static constexpr E kHighest = E{1} << (8 * sizeof(E) - 1);

  INLINE static void turn_square(const E* x, std::int64_t from, E* to, std::int64_t apart) {
    Square square;
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kLanes; ++i) {
      Vector v;
      __builtin_memcpy(&v, x + i * from, sizeof v);
      v ^= static_cast<typename SortLanes<E, bytes>::Signed>(kHighest);
      __builtin_memcpy(&square.rows[i], &v, sizeof v);
    }
    square.transpose();
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kLanes; ++i)
      __builtin_memcpy(to + i * apart, &square.rows[i], sizeof square.rows[i]);
  }

  INLINE static void to_lanes(const E* x, std::int64_t rows, std::int64_t n, E* to) {
    std::int64_t c = 0;
    if (rows == kLanes)
      for (; c + kLanes <= n; c += kLanes) turn_square(x + c, n, to + c * kLanes, kLanes);
    for (; c < n; ++c)
      for (std::int64_t i = 0; i < rows; ++i) to[c * kLanes + i] = x[i * n + c] ^ kHighest;
  }
  INLINE static void from_lanes(const E* x, std::int64_t rows, std::int64_t n, E* to) {
    std::int64_t c = 0;
    if (rows == kLanes)
      for (; c + kLanes <= n; c += kLanes) turn_square(x + c * kLanes, kLanes, to + c, n);
    for (; c < n; ++c)
      for (std::int64_t i = 0; i < rows; ++i) to[i * n + c] = x[c * kLanes + i] ^ kHighest;
  }
};

#undef INLINE

#if defined(__x86_64__)
#define FOR_TYPE(processor, E, bytes, features)                                        \
  [[gnu::target(features)]] void sort_lanes_##processor(E* x, std::int64_t n) {        \
    SortLanes<E, bytes>::run(x, n);                                                    \
  }                                                                                    \
  [[gnu::target(features)]] void to_lanes_##processor(const E* x, std::int64_t rows,   \
                                                      std::int64_t n, E* to) {         \
    TurnLanes<E, bytes>::to_lanes(x, rows, n, to);                                     \
  }                                                                                    \
  [[gnu::target(features)]] void from_lanes_##processor(const E* x, std::int64_t rows, \
                                                        std::int64_t n, E* to) {       \
    TurnLanes<E, bytes>::from_lanes(x, rows, n, to);                                   \
  }
#define FOR_PROCESSOR(processor, bytes, features)     \
  FOR_TYPE(processor, std::uint32_t, bytes, features) \
  FOR_TYPE(processor, std::uint64_t, bytes, features)
FOR_PROCESSOR(avx512, 64, "avx512f,avx512vl,avx512dq,avx512bw")
FOR_PROCESSOR(avx2, 32, "avx2")
#undef FOR_PROCESSOR
#undef FOR_TYPE
#endif

}  // namespace

template <class E>
std::int64_t lanes_to_sort() {
#if defined(__x86_64__)
  if (host_isa().avx512) return 64 / static_cast<std::int64_t>(sizeof(E));
  if (host_isa().avx2) return 32 / static_cast<std::int64_t>(sizeof(E));
#endif
  return 0;
}
template std::int64_t lanes_to_sort<std::uint32_t>();
template std::int64_t lanes_to_sort<std::uint64_t>();

template <class E>
void sort_lanes(E* x, std::int64_t n) {
#if defined(__x86_64__)
  if (host_isa().avx512) return sort_lanes_avx512(x, n);
  if (host_isa().avx2) return sort_lanes_avx2(x, n);
#endif
  static_cast<void>(x);
  static_cast<void>(n);
}
template void sort_lanes(std::uint32_t*, std::int64_t);
template void sort_lanes(std::uint64_t*, std::int64_t);

template <class E>
void rows_to_lanes(const E* x, std::int64_t rows, std::int64_t n, E* to) {
#if defined(__x86_64__)
  if (host_isa().avx512) return to_lanes_avx512(x, rows, n, to);
  if (host_isa().avx2) return to_lanes_avx2(x, rows, n, to);
#endif
  static_cast<void>(x), static_cast<void>(rows), static_cast<void>(n), static_cast<void>(to);
}
template void rows_to_lanes(const std::uint32_t*, std::int64_t, std::int64_t, std::uint32_t*);
template void rows_to_lanes(const std::uint64_t*, std::int64_t, std::int64_t, std::uint64_t*);

template <class E>
void lanes_to_rows(const E* x, std::int64_t rows, std::int64_t n, E* to) {
#if defined(__x86_64__)
  if (host_isa().avx512) return from_lanes_avx512(x, rows, n, to);
  if (host_isa().avx2) return from_lanes_avx2(x, rows, n, to);
#endif
  static_cast<void>(x), static_cast<void>(rows), static_cast<void>(n), static_cast<void>(to);
}
template void lanes_to_rows(const std::uint32_t*, std::int64_t, std::int64_t, std::uint32_t*);
template void lanes_to_rows(const std::uint64_t*, std::int64_t, std::int64_t, std::uint64_t*);

}  // namespace tessera::inline v0::codegen
