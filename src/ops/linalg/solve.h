// Factorisations and solvers; each function emits one equation of the op of its name.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// L with A = L L^H; reads only A's lower triangle. No attributes.
Value cholesky(Value a);

enum class Transposed { no, yes, adjoint };
/// The attributes of StableHLO: {left_side, lower, unit_diagonal: boolean, transpose_a: string}
struct TriangularDims {
  bool left_side = true, lower = true, unit_diagonal = false;
  Transposed transposed = Transposed::no;
};
Value triangular_solve(Value a, Value b, const TriangularDims& dims);

/// (L and U in one matrix, int32 pivots, int32 permutation); no attributes.
Values lu(Value a);
/// (q, r); {full: boolean}
Values qr(Value a, bool full);
/// (s), or (s, u, vh); {full, vectors: boolean}
Values svd(Value a, bool vectors, bool full);
/// (w), or (w, v), for the Hermitian matrix that A's lower triangle defines; {vectors: boolean}
Values eigh(Value a, bool vectors);
/// The same for any square matrix; the results are complex.
Values eig(Value a, bool vectors);

/// Solves A x = b for the columns of b, by lu.
Value solve(Value a, Value b);
/// The int32 permutation of `rows` rows that results from exchanging row i with row pivots(..., i),
/// for one i after another.
Value permutation_of(Value pivots, std::int64_t rows);
/// The left eigenvectors, u^H A = w u^H, as columns, given all right ones. They have length 1 and a
/// real largest element. NaN or infinite if the right eigenvectors do not span the space.
Value left_eigenvectors(Value right);
/// The rows of each matrix x permuted by `order`: result(..., i, :) = x(..., order(..., i), :).
Value rows_in_order(Value x, Value order);

}  // namespace tessera::inline v0::ops
