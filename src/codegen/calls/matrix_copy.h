// Matrices on their way to LAPACK, which has columns where arrays have rows.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::inline v0::codegen {

/// out(j, i) = x(i, j) of x with `rows` rows, whose elements lie `from` apart from row to row and
/// `to` in the result; in blocks, so that both are read by the line. A whole block is turned in memory that
/// the first cache has: what comes from further away is then asked for line after line.
template <class T>
void copy_transposed(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t from, T* out,
                     std::int64_t to);

/// An array's matrix by columns.
template <class T>
std::vector<T> by_columns(const T* x, std::int64_t rows, std::int64_t columns) {
  std::vector<T> out(static_cast<std::size_t>(std::max<std::int64_t>(1, rows * columns)));
  copy_transposed(x, rows, columns, columns, out.data(), rows);
  return out;
}

template <class T>
bool all_finite(const T* x, std::int64_t n);

template <class T>
constexpr T not_a_number() {
  if constexpr (std::is_floating_point_v<T>) {
    return std::numeric_limits<T>::quiet_NaN();
  } else {
    constexpr auto nan = std::numeric_limits<typename T::value_type>::quiet_NaN();
    return {nan, nan};
  }
}

template <class T>
void fill_nan(T* x, std::int64_t n) {
  std::fill(x, x + n, not_a_number<T>());
}

/// What stands for the Cholesky factor of n rows where there is none: NaN on the diagonal and below it,
/// zeros above.
template <class T>
void fill_no_factor(T* x, std::int64_t n) {
  for (std::int64_t r = 0; r < n; ++r) {
    fill_nan(x + r * n, r + 1);
    std::fill(x + r * n + r + 1, x + (r + 1) * n, T(0));
  }
}

}  // namespace tessera::inline v0::codegen
