// Systems with elements beside the diagonal only.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// `grow`: a pivot so small that dividing by it overflows moves away from 0, by the rounding error of
/// the largest element of the triangle, doubled until it does not. So a singular system has a finite
/// solution, as of LAPACK's `lagts`.
enum class TinyPivots { keep, grow };

/// x of A x = b for columns b (..., n, k); `lower`, `diagonal` and `upper` (..., n) lie below, on and
/// above A's diagonal, by its rows: lower's first and upper's last element are not read. By elimination
/// in which neighbouring rows are exchanged where that gives the larger pivot, as a loop over the rows.
Value tridiagonal_solve(Value lower, Value diagonal, Value upper, Value b,
                        TinyPivots tiny = TinyPivots::keep);

}  // namespace tessera::inline v0::ops
