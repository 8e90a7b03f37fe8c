#include "codegen/calls/panels.h"

#include "codegen/calls/squares.h"
#include "codegen/kernel/isa.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::inline v0::codegen {
namespace {

#define INLINE [[gnu::always_inline]] inline

// A tile of some columns, with twice as many rows as a register of `bytes` has lanes. 8 columns
// with AVX-512 give 16 independent sums for 10 loads; other processors have only 16 registers and
// use 4 columns.
template <class T, int bytes>
struct Tile {
  typedef T Vector __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
  static constexpr int kLanes = bytes / static_cast<int>(sizeof(T)), kRows = 2 * kLanes,
                       kColumns = bytes == 64 ? 8 : 4;
  static constexpr std::int64_t kStep = Panels<T>::kRows;  // distance of columns
  Vector low[kColumns], high[kColumns];

  INLINE static const Vector& at(const T* x) { return *reinterpret_cast<const Vector*>(x); }
  INLINE static Vector& at(T* x) { return *reinterpret_cast<Vector*>(x); }

  INLINE void load(const T* x, std::int64_t leading = kStep) {
#pragma GCC unroll 8
    for (int i = 0; i < kColumns; ++i) {
      low[i] = at(x + i * leading);
      high[i] = at(x + i * leading + kLanes);
    }
  }
  INLINE void store(T* x, std::int64_t leading = kStep) const {
#pragma GCC unroll 8
    for (int i = 0; i < kColumns; ++i) store_column(x + i * leading, i);
  }
  INLINE void store_column(T* x, int i) const {
    at(x) = low[i];
    at(x + kLanes) = high[i];
  }
  // Subtracts the product of `count` columns of `left` with the rows of `right` for these columns.
  INLINE void subtract(const T* left, const T* right, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k, left += kStep, right += kStep) {
      const Vector a = at(left), b = at(left + kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kColumns; ++i) {
        low[i] -= a * right[i];
        high[i] -= b * right[i];
      }
    }
  }
  // Subtracts the previous columns, times a row of the triangle, from column i.
  INLINE void eliminate(const T* triangle, int i) {
#pragma GCC unroll 8
    for (int d = 0; d < i; ++d) {
      low[i] -= low[d] * triangle[d * kStep + i];
      high[i] -= high[d] * triangle[d * kStep + i];
    }
  }
  INLINE void scale(int i, T by) {
    low[i] *= by;
    high[i] *= by;
  }
};

// The start of a row of a block.
template <class T>
INLINE T* row_of(T* block, std::int64_t row) {
  using P = Panels<std::remove_const_t<T>>;
  return block + row / P::kRows * P::kPanel + row % P::kRows;
}

template <class T, int bytes>
INLINE void subtract_product_as(const T* left, const T* right, std::int64_t depth,
                                std::int64_t width, T* x, std::int64_t leading) {
  using Q = Tile<T, bytes>;
  for (std::int64_t c = 0; c < width; c += Q::kColumns)
    for (std::int64_t r = 0; r < Panels<T>::kRows; r += Q::kRows) {
      Q tile;
      T* to = x + c * leading + r;
      tile.load(to, leading);
      tile.subtract(left + r, row_of(right, c), depth);
      tile.store(to, leading);
    }
}

template <class T, int bytes>
INLINE void solve_columns(T* rows, const T* factor, std::int64_t c, const T* inverses) {
  using Q = Tile<T, bytes>;
  Q tile;
  const T* right = row_of(factor, c);
  tile.load(rows + c * Q::kStep);
  tile.subtract(rows, right, c);
#pragma GCC unroll 8
  for (int i = 0; i < Q::kColumns; ++i) {
    tile.eliminate(right + c * Q::kStep, i);
    tile.scale(i, inverses[c + i]);
  }
  tile.store(rows + c * Q::kStep);
}

template <class T, int bytes>
INLINE void solve_as(const T* factor, const T* inverses, std::int64_t size, T* panel) {
  using Q = Tile<T, bytes>;
  for (std::int64_t c = 0; c < size; c += Q::kColumns)
    for (std::int64_t r = 0; r < Panels<T>::kRows; r += Q::kRows)
      solve_columns<T, bytes>(panel + r, factor, c, inverses);
}

template <class T, int bytes>
INLINE bool factor_as(T* block, std::int64_t size, T* inverses) {
  using Q = Tile<T, bytes>;
  for (std::int64_t c = 0; c < size; c += Q::kColumns) {
    // The rows with the diagonal come first; each pivot depends on the columns before it.
    const std::int64_t first = c / Q::kRows * Q::kRows;
    T *rows = row_of(block, first), *diagonal = row_of(block, c) + c * Q::kStep;
    Q tile;
    tile.load(rows + c * Q::kStep);
    tile.subtract(rows, row_of(block, c), c);
#pragma GCC unroll 8
    for (int i = 0; i < Q::kColumns; ++i) {
      tile.eliminate(diagonal, i);
      tile.store_column(rows + (c + i) * Q::kStep, i);
      const T pivot = diagonal[i * Q::kStep + i];
      if (!(pivot > 0 && pivot <= std::numeric_limits<T>::max())) return false;
      const T root = std::sqrt(pivot);
      inverses[c + i] = 1 / root;
      tile.scale(i, inverses[c + i]);
      tile.store_column(rows + (c + i) * Q::kStep, i);
      diagonal[i * Q::kStep + i] = root;
    }
    for (std::int64_t r = first + Q::kRows; r < size; r += Q::kRows)
      solve_columns<T, bytes>(row_of(block, r), block, c, inverses);
  }
  return true;
}

#undef INLINE

// The functions that are compiled for each processor.
template <class T>
struct Kernels {
  void (*subtract_product)(const T*, const T*, std::int64_t, std::int64_t, T*, std::int64_t);
  bool (*factor)(T*, std::int64_t, T*);
  void (*solve)(const T*, const T*, std::int64_t, T*);
};
#define FOR_TYPE(T, processor, bytes, features)                                                 \
  features void subtract_product_##processor(const T* left, const T* right, std::int64_t depth, \
                                             std::int64_t width, T* x, std::int64_t leading) {  \
    subtract_product_as<T, bytes>(left, right, depth, width, x, leading);                       \
  }                                                                                             \
  features bool factor_##processor(T* block, std::int64_t size, T* inverses) {                  \
    return factor_as<T, bytes>(block, size, inverses);                                          \
  }                                                                                             \
  features void solve_##processor(const T* factor, const T* inverses, std::int64_t size,        \
                                  T* panel) {                                                   \
    solve_as<T, bytes>(factor, inverses, size, panel);                                          \
  }
#define FOR_PROCESSOR(processor, bytes, features)                                           \
  FOR_TYPE(float, processor, bytes, features)                                               \
  FOR_TYPE(double, processor, bytes, features)                                              \
  template <class T>                                                                        \
  constexpr Kernels<T> k_##processor = {&subtract_product_##processor, &factor_##processor, \
                                        &solve_##processor};
#if defined(__x86_64__)
FOR_PROCESSOR(avx512, 64, [[gnu::target("avx512f,avx512vl,avx512dq,fma")]])
FOR_PROCESSOR(avx2, 32, [[gnu::target("avx2,fma")]])
#endif
FOR_PROCESSOR(any, 16, )
#undef FOR_PROCESSOR
#undef FOR_TYPE

template <class T>
const Kernels<T>& kernels() {
#if defined(__x86_64__)
  if (host_isa().avx512) return k_avx512<T>;
  if (host_isa().avx2) return k_avx2<T>;
#endif
  return k_any<T>;
}

}  // namespace

template <class T>
void Panels<T>::clear_behind(std::int64_t columns, T* panel) {
  std::fill(panel + columns * kRows, panel + (columns + 7) / 8 * 8 * kRows, T(0));
}
template <class T>
void Panels<T>::pack_rows(const T* x, std::int64_t leading, std::int64_t rows, std::int64_t columns,
                          T* panel) {
  if (rows < kRows) std::fill(panel, panel + columns * kRows, T(0));
  turn_squares(x, rows, columns, leading, panel, kRows);
  clear_behind(columns, panel);
}
template <class T>
void Panels<T>::pack_columns(const T* x, std::int64_t leading, std::int64_t rows,
                             std::int64_t columns, T* panel) {
  for (std::int64_t c = 0; c < columns; ++c) {
    T* to = panel + c * kRows;
    if (rows == kRows)
      std::copy(x + c * leading, x + c * leading + kRows, to);
    else
      std::fill(std::copy(x + c * leading, x + c * leading + rows, to), to + kRows, T(0));
  }
  clear_behind(columns, panel);
}
template <class T>
void Panels<T>::unpack_rows(const T* panel, std::int64_t rows, std::int64_t columns, T* x,
                            std::int64_t leading) {
  turn_squares(panel, columns, rows, kRows, x, leading);
}
template <class T>
void Panels<T>::unpack_columns(const T* panel, std::int64_t rows, std::int64_t columns, T* x,
                               std::int64_t leading) {
  for (std::int64_t c = 0; c < columns; ++c)
    std::copy(panel + c * kRows, panel + c * kRows + rows, x + c * leading);
}
template <class T>
void Panels<T>::subtract_product(const T* left, const T* right, std::int64_t depth,
                                 std::int64_t width, T* x, std::int64_t leading) {
  kernels<T>().subtract_product(left, right, depth, width, x, leading);
}
template <class T>
bool Panels<T>::factor(T* block, std::int64_t size, T* inverses) {
  return kernels<T>().factor(block, size, inverses);
}
template <class T>
void Panels<T>::solve(const T* factor, const T* inverses, std::int64_t size, T* panel) {
  kernels<T>().solve(factor, inverses, size, panel);
}

template struct Panels<float>;
template struct Panels<double>;

}  // namespace tessera::inline v0::codegen
