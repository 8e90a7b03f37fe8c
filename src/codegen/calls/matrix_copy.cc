#include "codegen/calls/matrix_copy.h"

#include "codegen/calls/squares.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

template <class T>
void copy_transposed(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t from, T* out,
                     std::int64_t to) {
  constexpr std::int64_t kBlock = 16;
  T block[kBlock * kBlock];
  for (std::int64_t i = 0; i < rows; i += kBlock)
    for (std::int64_t j = 0; j < columns; j += kBlock) {
      const T* in = x + i * from + j;
      T* turned = out + j * to + i;
      const std::int64_t height = std::min(kBlock, rows - i), width = std::min(kBlock, columns - j);
      if (height < kBlock || width < kBlock) {
        turn_squares(in, height, width, from, turned, to);
        continue;
      }
      turn_squares(in, kBlock, kBlock, from, block, kBlock);
      for (std::int64_t k = 0; k < kBlock; ++k)
        std::copy(block + k * kBlock, block + (k + 1) * kBlock, turned + k * to);
    }
}

namespace {

// The loop has no early exit, because that would prevent vectorisation.
template <class T>
bool are_finite(const T* x, std::int64_t n) {
  int others = 0;
  for (std::int64_t i = 0; i < n; ++i) others |= !(std::abs(x[i]) <= std::numeric_limits<T>::max());
  return others == 0;
}
template <class T>
bool are_finite(const std::complex<T>* x, std::int64_t n) {
  return are_finite(reinterpret_cast<const T*>(x), 2 * n);
}

}  // namespace

template <class T>
bool all_finite(const T* x, std::int64_t n) {
  return are_finite(x, n);
}

#define FOR_TYPE(T)                                                                     \
  template void copy_transposed(const T*, std::int64_t, std::int64_t, std::int64_t, T*, \
                                std::int64_t);                                          \
  template bool all_finite(const T*, std::int64_t);
FOR_TYPE(float)
FOR_TYPE(double)
FOR_TYPE(std::complex<float>)
FOR_TYPE(std::complex<double>)
#undef FOR_TYPE

}  // namespace tessera::inline v0::codegen
