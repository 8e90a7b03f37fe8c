// Copies lines to FftPoints (one line per lane) and back, by transposing squares in registers.
#pragma once

#include "codegen/calls/fft_lanes.h"

#include <cstdint>
#include <utility>

namespace tessera::inline v0::codegen {

#define INLINE [[gnu::always_inline]] inline

// A square of elements in registers: as many vectors as a vector has lanes.
template <class P, int bytes>
struct Square {
  typedef P Vector __attribute__((vector_size(bytes), may_alias));
  static constexpr int kRows = bytes / static_cast<int>(sizeof(P));
  Vector rows[kRows];

  // Interleaves the elements of two rows, from position `first` onwards.
  template <int first, int... i>
  INLINE static void interleave(const Vector& a, const Vector& b, Vector& to,
                                std::integer_sequence<int, i...>) {
    to = __builtin_shufflevector(a, b, (first + i / 2 + i % 2 * kRows)...);
  }

  // Interleaving the first half of the rows with the second one, log2(rows) times, transposes the
  // square.
  INLINE void transpose() {
    constexpr std::make_integer_sequence<int, kRows> kLanes;
    for (int round = 1; round < kRows; round *= 2) {
      Vector next[kRows];
      for (int i = 0; i < kRows / 2; ++i) {
        interleave<0>(rows[i], rows[i + kRows / 2], next[2 * i], kLanes);
        interleave<kRows / 2>(rows[i], rows[i + kRows / 2], next[2 * i + 1], kLanes);
      }
      for (int i = 0; i < kRows; ++i) rows[i] = next[i];
    }
  }
};

// A square of eight by eight floats with 32-byte registers, whose shuffle instructions move
// elements only within halves. Each register therefore holds four columns of a row in one half, and
// those of the row four below in the other. This takes half as many shuffles as interleaving whole
// registers.
struct Halves {
  typedef float Vector __attribute__((vector_size(32), may_alias));
  typedef float Half __attribute__((vector_size(16), may_alias));
  Vector rows[4];

  INLINE void load(int i, const float* low, const float* high) {
    Half a, b;
    __builtin_memcpy(&a, low, sizeof a);
    __builtin_memcpy(&b, high, sizeof b);
    rows[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  INLINE void store(int i, float* low, float* high) const {
    const Half a = __builtin_shufflevector(rows[i], rows[i], 0, 1, 2, 3),
               b = __builtin_shufflevector(rows[i], rows[i], 4, 5, 6, 7);
    __builtin_memcpy(low, &a, sizeof a);
    __builtin_memcpy(high, &b, sizeof b);
  }
  // Transposes both squares of four by four.
  INLINE void transpose() {
    const Vector a = __builtin_shufflevector(rows[0], rows[1], 0, 8, 1, 9, 4, 12, 5, 13),
                 b = __builtin_shufflevector(rows[2], rows[3], 0, 8, 1, 9, 4, 12, 5, 13),
                 c = __builtin_shufflevector(rows[0], rows[1], 2, 10, 3, 11, 6, 14, 7, 15),
                 d = __builtin_shufflevector(rows[2], rows[3], 2, 10, 3, 11, 6, 14, 7, 15);
    rows[0] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    rows[1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    rows[2] = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
    rows[3] = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
  }
};
template <int bytes, class P>
constexpr bool in_halves = bytes == 32 && sizeof(P) == 4;

// The lanes of points are the columns of a matrix whose rows are the lines.
template <int bytes, class P>
INLINE void all_to_points(const P* const* lines, std::int64_t numbers, FftPoint<P>* points) {
  constexpr std::int64_t n = Square<P, bytes>::kRows, lanes = FftPoint<P>::kLanes;
  P* const to = reinterpret_cast<P*>(points);
  const std::int64_t width = 2 * numbers, whole = width / n * n;
  for (std::int64_t column = 0; column < whole; column += n)
    for (std::int64_t first = 0; first < lanes; first += n) {
      if constexpr (in_halves<bytes, P>) {
        for (std::int64_t half = column; half < column + n; half += 4) {
          Halves s;
          for (int r = 0; r < 4; ++r)
            s.load(r, lines[first + r] + half, lines[first + r + 4] + half);
          s.transpose();
          for (int c = 0; c < 4; ++c)
            __builtin_memcpy(to + (half + c) * lanes + first, &s.rows[c], bytes);
        }
        continue;
      }
      Square<P, bytes> s;
      for (std::int64_t r = 0; r < n; ++r)
        __builtin_memcpy(&s.rows[r], lines[first + r] + column, bytes);
      s.transpose();
      for (std::int64_t c = 0; c < n; ++c)
        __builtin_memcpy(to + (column + c) * lanes + first, &s.rows[c], bytes);
    }
  for (std::int64_t column = whole; column < width; ++column)
    for (std::int64_t c = 0; c < lanes; ++c) to[column * lanes + c] = lines[c][column];
}
template <int bytes, class P>
INLINE void all_to_lines(const FftPoint<P>* points, std::int64_t numbers, P* const* lines) {
  constexpr std::int64_t n = Square<P, bytes>::kRows, lanes = FftPoint<P>::kLanes;
  const P* const from = reinterpret_cast<const P*>(points);
  const std::int64_t width = 2 * numbers, whole = width / n * n;
  for (std::int64_t column = 0; column < whole; column += n)
    for (std::int64_t first = 0; first < lanes; first += n) {
      if constexpr (in_halves<bytes, P>) {
        for (std::int64_t half = column; half < column + n; half += 4) {
          Halves s;
          for (int c = 0; c < 4; ++c)
            __builtin_memcpy(&s.rows[c], from + (half + c) * lanes + first, bytes);
          s.transpose();
          for (int r = 0; r < 4; ++r)
            s.store(r, lines[first + r] + half, lines[first + r + 4] + half);
        }
        continue;
      }
      Square<P, bytes> s;
      for (std::int64_t c = 0; c < n; ++c)
        __builtin_memcpy(&s.rows[c], from + (column + c) * lanes + first, bytes);
      s.transpose();
      for (std::int64_t r = 0; r < n; ++r)
        __builtin_memcpy(lines[first + r] + column, &s.rows[r], bytes);
    }
  for (std::int64_t column = whole; column < width; ++column)
    for (std::int64_t c = 0; c < lanes; ++c) lines[c][column] = from[column * lanes + c];
}

#undef INLINE

}  // namespace tessera::inline v0::codegen
