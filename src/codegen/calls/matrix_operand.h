// An operand of dot_general as a batch of matrices: their locations in memory, and whether a
// product can read them in place. Private to the matrix product.
#pragma once

#include "codegen/calls/internal.h"
#include "codegen/kernel/operand_view.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

namespace tessera::inline v0::codegen {

// Dimensions that are traversed together, outermost first.
struct DimGroup {
  Ints extents, strides;

  std::int64_t count() const {
    return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
  }
  // The stride with which the group can be traversed like a single dimension, or -1.
  std::int64_t stride() const {
    std::int64_t step = -1, span = 0;
    for (std::size_t i = extents.size(); i-- > 0;) {
      if (extents[i] == 1) continue;
      if (step >= 0 && strides[i] != span) return -1;
      if (step < 0) step = strides[i];
      span = strides[i] * extents[i];
    }
    return step < 0 ? 1 : step;
  }
};

/// `view`: how the operand is read, or nullptr if it is stored.
DimGroup group(const Shape& shape, const Ints& dims, const OperandView* view = nullptr);

// One operand as a batch of matrices with `outer` rows (lhs: free, rhs: contracting) and `inner`
// columns.
struct Matrix {
  DimGroup batch, outer, inner;
  DType element;           // in memory
  std::int64_t first = 0;  // the position of the first element
  bool packed = false;
  bool transposed = false;
  std::int64_t leading = 1;
  Ints offsets;             // of the matrices, in elements
  std::size_t scratch = 0;  // offset of the packed or widened operand
  bool in_scratch = false;

  std::int64_t rows() const { return outer.count(); }
  std::int64_t columns() const { return inner.count(); }
  std::int64_t elements() const { return batch.count() * rows() * columns(); }

  // Whether a product can read the operand in place; sets `transposed` and `leading`.
  bool place() {
    std::int64_t r = outer.stride(), c = inner.stride(), m = rows(), n = columns();
    if (r < 0 || c < 0) return false;
    if ((c == 1 || n == 1) && (r >= n || m == 1)) {
      transposed = false;
      leading = m == 1 ? std::max<std::int64_t>(1, n) : r;
    } else if ((r == 1 || m == 1) && (c >= m || n == 1)) {
      transposed = true;
      leading = n == 1 ? std::max<std::int64_t>(1, m) : c;
    } else {
      return false;
    }
    return leading <= std::numeric_limits<std::int32_t>::max();
  }
  void settle();
};

/// Copies matrices [begin, end) of the batch row by row, unchanged or widened from 16-bit floats to
/// float32.
enum class Packing { as_is, widened };
void pack(DType dtype, Packing packing, const Matrix& x, const void* from, void* to,
          std::int64_t begin, std::int64_t end);

}  // namespace tessera::inline v0::codegen
