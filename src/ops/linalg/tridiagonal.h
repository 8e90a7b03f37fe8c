// Solves tridiagonal systems.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// `grow`: a pivot so small that dividing by it overflows is moved away from 0 by the rounding
/// error of the largest element of the triangle, doubled until the division does not overflow. So a
/// singular system has a finite solution, as in LAPACK's `lagts`.
enum class TinyPivots { keep, grow };

/// Solves A x = b for the columns of b (..., n, k). `lower`, `diagonal` and `upper` (..., n) are
/// the elements of each row below, on and above A's diagonal; lower's first and upper's last
/// element are not read. Eliminates in a loop over the rows, exchanging neighbouring rows if that
/// gives the larger pivot.
Value tridiagonal_solve(Value lower, Value diagonal, Value upper, Value b,
                        TinyPivots tiny = TinyPivots::keep);

}  // namespace tessera::inline v0::ops
