// Factorisations and solvers as values; each emits one equation of the op of its name.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// L of A = L L^H; A's lower triangle is read. No attributes.
Value cholesky(Value a);

enum class Transposed { no, yes, adjoint };
/// StableHLO's: {left_side, lower, unit_diagonal: boolean, transpose_a: string}
struct TriangularDims {
  bool left_side = true, lower = true, unit_diagonal = false;
  Transposed transposed = Transposed::no;
};
Value triangular_solve(Value a, Value b, const TriangularDims& dims);

/// (L and U in one matrix, int32 rows exchanged, int32 permutation); no attributes.
Values lu(Value a);
/// (q, r); {full: boolean}
Values qr(Value a, bool full);
/// (s), or (s, u, vh); {full, vectors: boolean}
Values svd(Value a, bool vectors, bool full);
/// (w), or (w, v), of the Hermitian matrix whose lower triangle is A's; {vectors: boolean}
Values eigh(Value a, bool vectors);
/// The same of any matrix, complex.
Values eig(Value a, bool vectors);

/// x of A x = b for columns b, by lu.
Value solve(Value a, Value b);
/// Row i exchanged with row pivots(..., i), one i after the other, as the int32 permutation of `rows`
/// rows that comes of it.
Value permutation_of(Value pivots, std::int64_t rows);
/// The left eigenvectors u^H A = w u^H, as columns, that go with all right ones: of length 1, the
/// greatest element real. NaN or infinite where these do not span the space.
Value left_eigenvectors(Value right);
/// The rows of x in the order of a permutation for each matrix: result(..., i, :) is x(...,
/// order(..., i), :).
Value rows_in_order(Value x, Value order);

}  // namespace tessera::inline v0::ops
