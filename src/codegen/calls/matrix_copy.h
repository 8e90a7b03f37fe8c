// Copies between row-major arrays and LAPACK's column-major matrices.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::inline v0::codegen {

/// out(j, i) = x(i, j), where x has `rows` rows. Rows are `from` elements apart in x and `to` in
/// the result. Works in blocks, so that reads and writes cover whole cache lines. Whole blocks are
/// transposed in the first-level cache, so that data from further away is requested line by line.
template <class T>
void copy_transposed(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t from, T* out,
                     std::int64_t to);

/// A column-major copy of an array's matrix.
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

/// Fills the Cholesky factor of n rows if it does not exist: NaN on and below the diagonal, zeros
/// above.
template <class T>
void fill_no_factor(T* x, std::int64_t n) {
  for (std::int64_t r = 0; r < n; ++r) {
    fill_nan(x + r * n, r + 1);
    std::fill(x + r * n + r + 1, x + (r + 1) * n, T(0));
  }
}

}  // namespace tessera::inline v0::codegen
