// Transposition of squares that fit registers.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

namespace tessera::inline v0::codegen {

/// Transposes four by four floats. Rows are `from` elements apart in x and `to` in the result, of
/// which only the first `rows` are written.
template <int rows = 4>
[[gnu::always_inline]] inline void turn_square(const float* x, std::int64_t from, float* out,
                                               std::int64_t to) {
  typedef float Row __attribute__((vector_size(16)));
  typedef float InMemory __attribute__((vector_size(16), aligned(4), may_alias));
  const auto row = [&](std::int64_t i) -> Row {
    return *reinterpret_cast<const InMemory*>(x + i * from);
  };
  const auto set = [&](std::int64_t i, Row column) {
    *reinterpret_cast<InMemory*>(out + i * to) = column;
  };
  const Row a = row(0), b = row(1), c = row(2), d = row(3);
  const Row ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
            cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
            ab_behind = __builtin_shufflevector(a, b, 2, 6, 3, 7),
            cd_behind = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  set(0, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
  if (rows > 1) set(1, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
  if (rows > 2) set(2, __builtin_shufflevector(ab_behind, cd_behind, 0, 1, 4, 5));
  if (rows > 3) set(3, __builtin_shufflevector(ab_behind, cd_behind, 2, 3, 6, 7));
}

/// out(j, i) = x(i, j) for i < `rows` and j < `columns`.
template <class T>
[[gnu::always_inline]] inline void turn_squares(const T* x, std::int64_t rows, std::int64_t columns,
                                                std::int64_t from, T* out, std::int64_t to) {
  std::int64_t whole_rows = 0, whole_columns = columns;
  if constexpr (std::is_same_v<T, float>) {
    whole_rows = rows / 4 * 4;
    whole_columns = columns / 4 * 4;
    for (std::int64_t i = 0; i < whole_rows; i += 4)
      for (std::int64_t j = 0; j < whole_columns; j += 4)
        turn_square(x + i * from + j, from, out + j * to + i, to);
  } else {
    // Blocks of two by two, so that equally many adjacent elements are read and written.
    whole_rows = rows / 2 * 2;
    whole_columns = columns / 2 * 2;
    for (std::int64_t i = 0; i < whole_rows; i += 2)
      for (std::int64_t j = 0; j < whole_columns; j += 2) {
        const T *in = x + i * from + j, a = in[0], b = in[1], c = in[from], d = in[from + 1];
        T* turned = out + j * to + i;
        turned[0] = a;
        turned[1] = c;
        turned[to] = b;
        turned[to + 1] = d;
      }
  }
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      out[j * to + i] = x[i * from + j];
}

}  // namespace tessera::inline v0::codegen
