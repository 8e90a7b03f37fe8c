// Blocks of matrices, packed for multiplication. A block of 128 rows and columns consists of panels
// of a few rows, each stored column by column, so that the rows of a panel fill two AVX-512
// registers. No operation mixes rows. Compiled for several processors; multiplication and
// subtraction are fused on processors that support it. For float and double.
#pragma once

#include <cstdint>

namespace tessera::inline v0::codegen {

template <class T>
struct Panels {
  static constexpr std::int64_t kBlock = 128;                 // rows and columns
  static constexpr std::int64_t kRows = 128 / sizeof(T);      // per panel
  static constexpr std::int64_t kPanel = kBlock * kRows;      // elements
  static constexpr std::int64_t kElements = kBlock * kBlock;  // per block

  /// Packs `rows` rows (at most kRows) of the first `columns` columns into a panel. In x, rows
  /// (pack_columns: columns) are `leading` elements apart. Missing rows are zeroed, and so are
  /// columns up to a multiple of 8.
  static void pack_rows(const T* x, std::int64_t leading, std::int64_t rows, std::int64_t columns,
                        T* panel);
  static void pack_columns(const T* x, std::int64_t leading, std::int64_t rows,
                           std::int64_t columns, T* panel);
  static void unpack_rows(const T* panel, std::int64_t rows, std::int64_t columns, T* x,
                          std::int64_t leading);
  static void unpack_columns(const T* panel, std::int64_t rows, std::int64_t columns, T* x,
                             std::int64_t leading);

  /// Subtracts left right^T from kRows rows of `width` columns, which are `leading` elements apart
  /// in x. The product sums over `depth` columns of the panel `left` and the block `right`. `width`
  /// may be rounded up to a multiple of 8.
  static void subtract_product(const T* left, const T* right, std::int64_t depth,
                               std::int64_t width, T* x, std::int64_t leading = kRows);

  /// Replaces the first `size` rows and columns of a block by their Cholesky factor, and writes 1 /
  /// its diagonal to `inverses`. Only the lower triangle with the diagonal is read and written.
  /// Returns false if a pivot is not positive and finite. `size` may be rounded up to a multiple of
  /// 8, for which the block must have room.
  static bool factor(T* block, std::int64_t size, T* inverses);

  /// Replaces the first `size` columns of a panel by the solution x of x factor^T = panel, where
  /// `factor` is lower triangular and `inverses` holds 1 / its diagonal. `size` may be rounded up
  /// to a multiple of 8.
  static void solve(const T* factor, const T* inverses, std::int64_t size, T* panel);

 private:
  static void clear_behind(std::int64_t columns, T* panel);
};

extern template struct Panels<float>;
extern template struct Panels<double>;

}  // namespace tessera::inline v0::codegen
