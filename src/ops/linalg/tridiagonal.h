// Systems with elements beside the diagonal only.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// x of A x = b for columns b (..., n, k); `lower`, `diagonal` and `upper` (..., n) lie below, on and
/// above A's diagonal, by its rows: lower's first and upper's last element are not read. By elimination
/// in which neighbouring rows are exchanged where that gives the larger pivot, as a loop over the rows.
Value tridiagonal_solve(Value lower, Value diagonal, Value upper, Value b);

}  // namespace tessera::inline v0::ops
