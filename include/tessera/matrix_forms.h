// Matrix decompositions into simpler forms, and functions based on them. They belong to ts::linalg,
// like the rest of linalg.h.
#pragma once

#include <tessera/array.h>

#include <string>

namespace tessera::inline v0::linalg {

/// A = Z T Z^H for any square matrix, Z^H Z = 1. T is upper triangular; for a real matrix it has 2
/// by 2 blocks on its diagonal for pairs of complex eigenvalues. `output` "complex" treats a real
/// matrix as complex. Not differentiable.
struct Schur {
  Array t, z;
};
TESSERA_API Schur schur(Operand a, const std::string& output = "real");

/// A = Q H Q^H for any square matrix, Q^H Q = 1. H is zero below the first subdiagonal.
struct Hessenberg {
  Array h, q;
};
TESSERA_API Hessenberg hessenberg(Operand a);

/// The first n columns of H_1 ... H_k with H_i = 1 - taus(..., i) v_i v_i^H. The vector v_i is in
/// column i of a (..., m, n), below its leading one, which is not read; taus is (..., k), k <= n <=
/// m. Throws ShapeError for other shapes.
TESSERA_API Array householder_product(Operand a, Operand taus);

/// Solves A x = b for a tridiagonal A, b (..., n, k). dl, d and du (..., n) are the entries of each
/// row below, on and above the diagonal; the first element of dl and the last of du are not read.
/// Rows are exchanged for the larger pivot. Throws ShapeError for other shapes.
TESSERA_API Array tridiagonal_solve(Operand dl, Operand d, Operand du, Operand b);

/// The complex X with X X = A whose eigenvalues have no negative real part, by the Schur form; NaN
/// or infinite if there is none. The root of a negative eigenvalue is taken above the real axis,
/// also if the eigenvalue is off the axis by at most n eps times A's largest. Not differentiable.
TESSERA_API Array sqrtm(Operand a);

}  // namespace tessera::inline v0::linalg
