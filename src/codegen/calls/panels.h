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
  static constexpr std::int64_t kPanels = kBlock / kRows;

  /// The panel of `rows` rows, at most kRows, of `columns` columns, whose rows lie `leading` apart in x. What
  /// is left of a panel becomes zeros.
  static void pack(const T* x, std::int64_t leading, std::int64_t rows, std::int64_t columns,
                   T* panel);
  static void unpack(const T* panel, std::int64_t rows, std::int64_t columns, T* x,
                     std::int64_t leading);

  /// The first columns of a panel, less those of left right^T: a panel and a block with kBlock columns.
  static void subtract_product(const T* left, const T* right, std::int64_t columns, T* panel);

  /// The Cholesky factor of the first rows and columns of a block in place, read and written below the
  /// diagonal and on it, and 1 / its diagonal; false where a pivot is not above zero and finite. `size` may
  /// be rounded up to a multiple of 8, which the block has to allow for.
  static bool factor(T* block, std::int64_t size, T* inverses);

  /// A panel becomes x with x factor^T = panel.
  static void solve(const T* factor, const T* inverses, T* panel);
};

extern template struct Panels<float>;
extern template struct Panels<double>;

}  // namespace tessera::inline v0::codegen
