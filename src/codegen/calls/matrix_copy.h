// Matrices on their way to LAPACK, which has columns where arrays have rows.
#pragma once

#include <algorithm>
#include <cmath>
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
                     std::int64_t to) {
  constexpr std::int64_t kBlock = 16;
  T block[kBlock * kBlock];
  for (std::int64_t i0 = 0; i0 < rows; i0 += kBlock)
    for (std::int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      const T* in = x + i0 * from + j0;
      T* turned = out + j0 * to + i0;
      const std::int64_t height = std::min(kBlock, rows - i0),
                         width = std::min(kBlock, columns - j0);
      if (height == kBlock && width == kBlock) {
        for (std::int64_t i = 0; i < kBlock; ++i)
          for (std::int64_t j = 0; j < kBlock; ++j) block[j * kBlock + i] = in[i * from + j];
        for (std::int64_t j = 0; j < kBlock; ++j)
          std::copy(block + j * kBlock, block + (j + 1) * kBlock, turned + j * to);
      } else {
        for (std::int64_t i = 0; i < height; ++i)
          for (std::int64_t j = 0; j < width; ++j) turned[j * to + i] = in[i * from + j];
      }
    }
}

/// An array's matrix by columns.
template <class T>
std::vector<T> by_columns(const T* x, std::int64_t rows, std::int64_t columns) {
  std::vector<T> out(static_cast<std::size_t>(std::max<std::int64_t>(1, rows * columns)));
  copy_transposed(x, rows, columns, columns, out.data(), rows);
  return out;
}

template <class T>
bool all_finite(const T* x, std::int64_t n) {
  return std::all_of(x, x + n, [](const T& e) {
    return std::isfinite(std::real(e)) && std::isfinite(std::imag(e));
  });
}

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

}  // namespace tessera::inline v0::codegen
