#include "codegen/calls/panels.h"

#include "codegen/kernel/isa.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::inline v0::codegen {
namespace {

#define INLINE [[gnu::always_inline]] inline

// Some columns of twice as many rows as a register of `bytes` has lanes. With 8 columns of AVX-512 there are
// 16 sums under way, for 10 loads; the 16 registers of other processors have room for 4.
template <class T, int bytes>
struct Tile {
  typedef T Vector __attribute__((vector_size(bytes), may_alias));
  static constexpr int kLanes = bytes / static_cast<int>(sizeof(T)), kRows = 2 * kLanes,
                       kColumns = bytes == 64 ? 8 : 4;
  static constexpr std::int64_t kStep = Panels<T>::kRows;  // from column to column
  Vector low[kColumns], high[kColumns];

  INLINE static const Vector& at(const T* x) { return *reinterpret_cast<const Vector*>(x); }
  INLINE static Vector& at(T* x) { return *reinterpret_cast<Vector*>(x); }

  INLINE void load(const T* x) {
#pragma GCC unroll 8
    for (int i = 0; i < kColumns; ++i) {
      low[i] = at(x + i * kStep);
      high[i] = at(x + i * kStep + kLanes);
    }
  }
  INLINE void store(T* x) const {
#pragma GCC unroll 8
    for (int i = 0; i < kColumns; ++i) store(x, i);
  }
  INLINE void store(T* x, int i) const {
    at(x + i * kStep) = low[i];
    at(x + i * kStep + kLanes) = high[i];
  }
  // Less `count` columns of `left` times the rows of `right` that the columns are.
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
  // Column i less those before it, times a triangle's row.
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

// Where a row of a block begins.
template <class T>
INLINE T* row_of(T* block, std::int64_t row) {
  using P = Panels<std::remove_const_t<T>>;
  return block + row / P::kRows * P::kPanel + row % P::kRows;
}

template <class T, int bytes>
INLINE void subtract_product_as(const T* left, const T* right, std::int64_t columns, T* panel) {
  using Q = Tile<T, bytes>;
  for (std::int64_t c = 0; c < columns; c += Q::kColumns)
    for (std::int64_t r = 0; r < Panels<T>::kRows; r += Q::kRows) {
      Q tile;
      T* to = panel + c * Q::kStep + r;
      tile.load(to);
      tile.subtract(left + r, row_of(right, c), Panels<T>::kBlock);
      tile.store(to);
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
INLINE void solve_as(const T* factor, const T* inverses, T* panel) {
  using Q = Tile<T, bytes>;
  for (std::int64_t c = 0; c < Panels<T>::kBlock; c += Q::kColumns)
    for (std::int64_t r = 0; r < Panels<T>::kRows; r += Q::kRows)
      solve_columns<T, bytes>(panel + r, factor, c, inverses);
}

template <class T, int bytes>
INLINE bool factor_as(T* block, std::int64_t size, T* inverses) {
  using Q = Tile<T, bytes>;
  for (std::int64_t c = 0; c < size; c += Q::kColumns) {
    // The rows with the diagonal first, where each pivot is the last column's before it.
    const std::int64_t first = c / Q::kRows * Q::kRows;
    T *rows = row_of(block, first), *diagonal = row_of(block, c) + c * Q::kStep;
    Q tile;
    tile.load(rows + c * Q::kStep);
    tile.subtract(rows, row_of(block, c), c);
#pragma GCC unroll 8
    for (int i = 0; i < Q::kColumns; ++i) {
      tile.eliminate(diagonal, i);
      tile.store(rows + c * Q::kStep, i);
      const T pivot = diagonal[i * Q::kStep + i];
      if (!(pivot > 0 && pivot <= std::numeric_limits<T>::max())) return false;
      const T root = std::sqrt(pivot);
      inverses[c + i] = 1 / root;
      tile.scale(i, inverses[c + i]);
      tile.store(rows + c * Q::kStep, i);
      diagonal[i * Q::kStep + i] = root;
    }
    for (std::int64_t r = first + Q::kRows; r < size; r += Q::kRows)
      solve_columns<T, bytes>(row_of(block, r), block, c, inverses);
  }
  return true;
}

// Squares of 16 bytes turn in registers. `rows` and `columns` are multiples of kSquare.
template <class T>
struct Square;
template <>
struct Square<float> {
  static constexpr std::int64_t kSquare = 4;
  typedef float Vector __attribute__((vector_size(16), aligned(4), may_alias));
  INLINE static void turn(const float* x, std::int64_t from, float* to, std::int64_t step) {
    typedef float Whole __attribute__((vector_size(16)));
    auto row = [&](std::int64_t i) -> Whole {
      return *reinterpret_cast<const Vector*>(x + i * from);
    };
    const Whole a = row(0), b = row(1), c = row(2), d = row(3);
    const Whole ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    auto column = [&](std::int64_t i, Whole v) { *reinterpret_cast<Vector*>(to + i * step) = v; };
    column(0, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
    column(1, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
    column(2, __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5));
    column(3, __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7));
  }
};
template <>
struct Square<double> {
  static constexpr std::int64_t kSquare = 2;
  INLINE static void turn(const double* x, std::int64_t from, double* to, std::int64_t step) {
    const double a = x[0], b = x[1], c = x[from], d = x[from + 1];
    to[0] = a, to[1] = c, to[step] = b, to[step + 1] = d;
  }
};

// to(j, i) = x(i, j), i below `rows` and j below `columns`.
template <class T>
INLINE void turn(const T* x, std::int64_t from, std::int64_t rows, std::int64_t columns, T* to,
                 std::int64_t step) {
  constexpr std::int64_t k = Square<T>::kSquare;
  const std::int64_t whole_rows = rows / k * k, whole_columns = columns / k * k;
  for (std::int64_t i = 0; i < whole_rows; i += k)
    for (std::int64_t j = 0; j < whole_columns; j += k)
      Square<T>::turn(x + i * from + j, from, to + j * step + i, step);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      to[j * step + i] = x[i * from + j];
}

#undef INLINE

// One name for the functions that are compiled for a processor.
template <class T>
struct Kernels {
  void (*subtract_product)(const T*, const T*, std::int64_t, T*);
  bool (*factor)(T*, std::int64_t, T*);
  void (*solve)(const T*, const T*, T*);
};
#define FOR_TYPE(T, processor, bytes, features)                                                   \
  features void subtract_product_##processor(const T* left, const T* right, std::int64_t columns, \
                                             T* panel) {                                          \
    subtract_product_as<T, bytes>(left, right, columns, panel);                                   \
  }                                                                                               \
  features bool factor_##processor(T* block, std::int64_t size, T* inverses) {                    \
    return factor_as<T, bytes>(block, size, inverses);                                            \
  }                                                                                               \
  features void solve_##processor(const T* factor, const T* inverses, T* panel) {                 \
    solve_as<T, bytes>(factor, inverses, panel);                                                  \
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
void Panels<T>::pack(const T* x, std::int64_t leading, std::int64_t rows, std::int64_t columns,
                     T* panel) {
  if (rows < kRows || columns < kBlock) std::fill(panel, panel + kPanel, T(0));
  turn(x, leading, rows, columns, panel, kRows);
}
template <class T>
void Panels<T>::unpack(const T* panel, std::int64_t rows, std::int64_t columns, T* x,
                       std::int64_t leading) {
  turn(panel, kRows, columns, rows, x, leading);
}
template <class T>
void Panels<T>::subtract_product(const T* left, const T* right, std::int64_t columns, T* panel) {
  kernels<T>().subtract_product(left, right, columns, panel);
}
template <class T>
bool Panels<T>::factor(T* block, std::int64_t size, T* inverses) {
  return kernels<T>().factor(block, size, inverses);
}
template <class T>
void Panels<T>::solve(const T* factor, const T* inverses, T* panel) {
  kernels<T>().solve(factor, inverses, panel);
}

template struct Panels<float>;
template struct Panels<double>;

}  // namespace tessera::inline v0::codegen
