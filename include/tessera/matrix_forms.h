// Matrices in simpler forms, and what is computed by these: of ts::linalg, as the rest of linalg.h.
#pragma once

#include <tessera/array.h>

#include <string>

namespace tessera::inline v0::linalg {

/// A = Z T Z^H of any square matrix, Z^H Z = 1: T is upper triangular, or of a real matrix has
/// blocks of two rows on its diagonal for pairs of complex eigenvalues. `output` "complex" takes a
/// real one as complex. There are no derivatives.
struct Schur {
  Array t, z;
};
TESSERA_API Schur schur(Operand a, const std::string& output = "real");

/// A = Q H Q^H of any square matrix, Q^H Q = 1: H is zero below the first diagonal under the main
/// one.
struct Hessenberg {
  Array h, q;
};
TESSERA_API Hessenberg hessenberg(Operand a);

/// The first n columns of H_1 ... H_k, H_i = 1 - taus(..., i) v_i v_i^H, v_i in column i of a
/// (..., m, n) below its leading one, which is not read; taus (..., k), k <= n <= m. ShapeError for
/// other shapes.
TESSERA_API Array householder_product(Operand a, Operand taus);

/// x of A x = b with a tridiagonal A, b (..., n, k). dl, d and du (..., n) lie below, on and above
/// its diagonal, each at the place of its row: dl's first and du's last element are not read. Rows
/// are exchanged for the larger pivot. ShapeError for other shapes.
TESSERA_API Array tridiagonal_solve(Operand dl, Operand d, Operand du, Operand b);

/// The complex X of X X = A whose eigenvalues have no negative real part, by the Schur form; NaN or
/// infinite where there is none. A negative eigenvalue has the root above the axis, also one that
/// is off the axis by no more than n eps times A's largest. There are no derivatives.
TESSERA_API Array sqrtm(Operand a);

}  // namespace tessera::inline v0::linalg
