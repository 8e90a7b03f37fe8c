// The QR factorisation in panels, whose Q is a product of blocks of reflections.
#pragma once

#include "ops/linalg/loops.h"

#include <vector>

namespace tessera::inline v0::ops {

/// Q = Q_1 Q_2 ..., each of which is a block of reflections.
class BlockedQr {
 public:
  BlockedQr(Value a, const LoopOptions& options);

  /// (..., m, n), zero below the diagonal.
  Value r() const { return r_; }
  /// Q x for an x of m rows.
  Value times(Value x) const;
  /// The first columns of Q, as many as asked for.
  Value q(std::int64_t columns) const;

 private:
  struct Block {
    std::int64_t first;     // the first row that it changes
    Value packed, taus;     // as householder.h has them
    Value vectors, factor;  // V and T of I - V T V^H, if products are used
  };
  Value apply(const Block& block, Value x, bool adjoint) const;

  LoopOptions options_;
  std::vector<Block> blocks_;
  Value r_;
};

/// Whether all elements of each matrix are finite, by matrix.
Value all_finite(Value a);
/// The largest magnitude of each matrix's elements, or 1 if all are zero.
Value scale_of(Value a);
/// `x`, or NaN where `good`, one flag per matrix or vector of x, is false.
Value or_nan(Value good, Value x);
/// The matrices with rows [row, ...) replaced by `rows`.
Value with_rows_from(Value x, std::int64_t row, Value rows);

}  // namespace tessera::inline v0::ops
