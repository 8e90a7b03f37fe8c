// The pseudo-inverse and its product with right-hand sides, with custom derivative rules: the
// derivative of a singular value decomposition is undefined where singular values are equal, as for
// an orthogonal matrix, but these derivatives are defined there.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0::linalg {

/// 1 / s where s exceeds `tolerance` times the largest s, else 0.
Value inverse_above(Value s, double tolerance);

/// The pseudo-inverse of the matrices in the last two dimensions; if `hermitian`, it is computed
/// from eigenvalues. The derivative assumes that the rank does not change (Golub and Pereyra 1973).
Value pseudo_inverse(Value a, double tolerance, bool hermitian);

/// The pseudo-inverse of `a` times `b`.
Value least_squares(Value a, Value b, double tolerance);

}  // namespace tessera::inline v0::linalg
