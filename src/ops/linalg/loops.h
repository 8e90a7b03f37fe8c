// Factorisations composed of loops, matrix products and elementwise operations, for platforms that
// have no routine for them.
//
// Each function has the results of the op of its name (solve.h), also for matrices that are not
// finite, and takes batches: their matrices go through the same steps together. Signs and phases of
// vectors may differ from LAPACK's. Derivatives are those of the ops, which are taken before an op
// is replaced.
#pragma once

#include "ops/build.h"

#include <cstdint>

namespace tessera::inline v0::ops {

struct LoopOptions {
  /// Whether matrix products are computed in full precision. Otherwise none is used.
  bool exact_products = true;
  /// The least width of a panel. The columns of a panel are factorised one by one, and then the
  /// columns to their right are updated by products. There are at most kPanels panels.
  std::int64_t panel = 64;
  static constexpr std::int64_t kPanels = 32;

  /// The width of the panels of a matrix with `columns` columns to factorise.
  std::int64_t width(std::int64_t columns) const;
};

/// Row exchanges choose the pivot that LAPACK chooses.
Values lu_by_loops(Value a, const LoopOptions& options = {});
/// Reflections as LAPACK stores them, a block at a time in the compact form I - V T V^H.
Values qr_by_loops(Value a, bool full, const LoopOptions& options = {});
/// Two-sided Jacobi rotations. A sweep pairs each row with each other row once; a step rotates half
/// as many pairs as there are rows.
Values eigh_by_loops(Value a, bool vectors, const LoopOptions& options = {});
/// One-sided Jacobi rotations of the triangular factor of A, in the same order.
Values svd_by_loops(Value a, bool vectors, bool full, const LoopOptions& options = {});

}  // namespace tessera::inline v0::ops
