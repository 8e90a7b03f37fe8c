// Blocks of matrices in the order in which they are multiplied: a block of 128 rows and columns lies in
// panels of a few rows, each by columns, so that the rows of a panel fill two registers of AVX-512. No
// operation mixes rows. Compiled for several processors; products are fused with their subtraction where
// the processor does so. For float and double.
#pragma once

#include <cstdint>

namespace tessera::inline v0::codegen {

template <class T>
struct Panels {
  static constexpr std::int64_t kBlock = 128;                 // rows and columns
  static constexpr std::int64_t kRows = 128 / sizeof(T);      // of a panel
  static constexpr std::int64_t kPanel = kBlock * kRows;      // elements
  static constexpr std::int64_t kElements = kBlock * kBlock;  // of a block

  /// The panel of `rows` rows, at most kRows, and the first columns, which lie `leading` apart in x, row from
  /// row or column from column. What is left of these columns becomes zeros, and of eight columns.
  static void pack_rows(const T* x, std::int64_t leading, std::int64_t rows, std::int64_t columns,
                        T* panel);
  static void pack_columns(const T* x, std::int64_t leading, std::int64_t rows,
                           std::int64_t columns, T* panel);
  static void unpack_rows(const T* panel, std::int64_t rows, std::int64_t columns, T* x,
                          std::int64_t leading);
  static void unpack_columns(const T* panel, std::int64_t rows, std::int64_t columns, T* x,
                             std::int64_t leading);

  /// kRows rows of `width` columns, which lie `leading` apart in x, less those of left right^T: `depth` columns
  /// of a panel and of a block. `width` may be rounded up to a multiple of 8.
  static void subtract_product(const T* left, const T* right, std::int64_t depth,
                               std::int64_t width, T* x, std::int64_t leading = kRows);

  /// The Cholesky factor of the first rows and columns of a block in place, read and written below the
  /// diagonal and on it, and 1 / its diagonal; false where a pivot is not above zero and finite. `size` may
  /// be rounded up to a multiple of 8, which the block has to allow for.
  static bool factor(T* block, std::int64_t size, T* inverses);

  /// The first columns of a panel become x with x factor^T = panel, of a lower triangle and 1 / its diagonal.
  /// `size` may be rounded up to a multiple of 8.
  static void solve(const T* factor, const T* inverses, std::int64_t size, T* panel);

 private:
  static void clear_behind(std::int64_t columns, T* panel);
};

extern template struct Panels<float>;
extern template struct Panels<double>;

}  // namespace tessera::inline v0::codegen
