// The pseudo-inverse and what it makes of right-hand sides, with derivatives of their own: those of
// a singular value decomposition are not defined where singular values are equal, as they are of an
// orthogonal matrix, but theirs are.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0::linalg {

/// 1 / s where s is above `tolerance` times the greatest, else 0.
Value inverse_above(Value s, double tolerance);

/// The pseudo-inverse of the matrices in the last two dimensions; `hermitian` goes by eigenvalues.
/// Its derivative is that of matrices of the same rank (Golub and Pereyra 1973).
Value pseudo_inverse(Value a, double tolerance, bool hermitian);

/// The pseudo-inverse of `a` times `b`.
Value least_squares(Value a, Value b, double tolerance);

}  // namespace tessera::inline v0::linalg
