// Linear algebra, under NumPy's names: ts::linalg::solve(a, b).
//
// Matrices are the last two axes; those before are batches, each matrix on its own. In floats and
// complex numbers: integers become float32 (float64 for 64-bit ones), and 16-bit floats are
// computed in float32 and rounded. All functions throw ShapeError for operands of too few axes, for
// matrices that are not square where they have to be, and for extents that do not fit. A matrix
// with NaN or infinity in it gives NaN; so does one that a factorisation does not exist of.
#pragma once

#include <tessera/array.h>
#include <tessera/axis_list.h>
#include <tessera/contractions.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0::linalg {

// --- factorisations

/// L of A = L L^H, lower triangular, of a Hermitian positive definite matrix; with `upper`, U of A
/// = U^H U. What is read is (A + A^H) / 2 where `symmetrize` says so, else one triangle. NaN where
/// A is not positive definite.
struct CholeskyOptions {
  detail::Named named = detail::Named();
  bool upper = false;
  bool symmetrize = true;
};
TESSERA_API Array cholesky(Operand a, const CholeskyOptions& o = {});

/// A = P L U: P a permutation (m, m), real, L unit lower triangular (m, k), U upper triangular (k,
/// n), k the smaller of m and n. Rows are exchanged so that each pivot is the largest of its
/// column, by |re| + |im| where it is complex.
struct LU {
  Array p, l, u;
};
TESSERA_API LU lu(Operand a);
/// L and U in one matrix, L's diagonal left out; for each step the row (int32, from 0) that its row
/// was exchanged with; and the order of rows that comes of it.
struct LUFactor {
  Array lu, pivots, permutation;
};
TESSERA_API LUFactor lu_factor(Operand a);
/// x of A x = b (trans 0), A^T x = b (1) or A^H x = b (2), given lu_factor(A). b is a vector or has
/// columns, as in solve.
TESSERA_API Array lu_solve(const LUFactor& factor, Operand b, int trans = 0);

/// The factor of cho_factor: one triangle is set, the other zero.
struct ChoFactor {
  Array c;
  bool lower = false;
};
TESSERA_API ChoFactor cho_factor(Operand a, bool lower = false);
/// x of A x = b, given cho_factor(A).
TESSERA_API Array cho_solve(const ChoFactor& factor, Operand b);

/// A = Q R with Q^H Q = 1 and R upper triangular. `mode` "reduced": Q (m, k), R (k, n); "complete":
/// Q (m, m), R (m, n).
struct QR {
  Array q, r;
};
TESSERA_API QR qr(Operand a, const std::string& mode = "reduced");

/// A = U diag(s) V^H, s descending. Singular vectors of equal values are any basis of the space
/// that they span, and their derivatives leave it where it is: right for functions of the values,
/// of these spaces and of U V^H. There are no derivatives of full matrices that are not square.
struct SVD {
  Array u, s, vh;
};
TESSERA_API SVD svd(Operand a, bool full_matrices = true);
TESSERA_API Array svdvals(Operand a);

/// A = V diag(w) V^H of a Hermitian matrix, w real and ascending, the columns of v the
/// eigenvectors. (A + A^H) / 2 is read. Eigenvectors of equal eigenvalues are any basis of the
/// space that they span, and their derivatives have no part within it: right for functions of the
/// eigenvalues and of these spaces, not of V f(w) V^H where f has a slope.
struct Eigh {
  Array eigenvalues, eigenvectors;
};
TESSERA_API Eigh eigh(Operand a);
TESSERA_API Array eigvalsh(Operand a);
/// A V = V diag(w) of any square matrix: complex, in no order; columns of length 1 whose largest
/// element is real. Derivatives are those of distinct eigenvalues.
struct Eig {
  Array eigenvalues, eigenvectors;
};
TESSERA_API Eig eig(Operand a);
TESSERA_API Array eigvals(Operand a);

// --- equations and inverses

/// `lower`: which triangle of A is read; `trans`: 0 solves A x = b, 1 A^T x = b, 2 A^H x = b.
struct TriangularOptions {
  detail::Named named = detail::Named();
  bool lower = false;
  int trans = 0;
  bool unit_diagonal = false;
};
/// x of A x = b with a triangular A. b is a vector (n) or has columns (..., n, k).
TESSERA_API Array solve_triangular(Operand a, Operand b, const TriangularOptions& o = {});
/// As jax.lax.linalg.triangular_solve: x of op(A) x = b, or x op(A) = b where not `left_side`; op
/// is the transpose, the conjugate, or both.
struct TriangularSolveOptions {
  detail::Named named = detail::Named();
  bool left_side = false;
  bool lower = false;
  bool transpose_a = false;
  bool conjugate_a = false;
  bool unit_diagonal = false;
};
TESSERA_API Array triangular_solve(Operand a, Operand b, const TriangularSolveOptions& o = {});

/// x of A x = b: b a vector (n) or columns (..., n, k). The axes before the last two broadcast.
TESSERA_API Array solve(Operand a, Operand b);
TESSERA_API Array inv(Operand a);
TESSERA_API Array det(Operand a);
/// The sign (of magnitude 1, or 0) of the determinant and the logarithm of its magnitude.
struct SlogDet {
  Array sign, logabsdet;
};
TESSERA_API SlogDet slogdet(Operand a);

/// x that makes |A x - b| least, and of those the shortest, of a matrix A (m, n) and a b (m) or
/// (m, k). Singular values below rcond times the largest count as zero; without it, eps max(m, n).
/// `residuals` are the squares of |A x - b| by column, NaN where the rank (int32) is less than n;
/// none where m <= n.
struct Lstsq {
  Array x, residuals, rank, s;
};
TESSERA_API Lstsq lstsq(Operand a, Operand b, std::optional<double> rcond = {});
/// The pseudo-inverse, by the singular values above rcond times the largest; without it, 10 eps
/// max(m, n).
TESSERA_API Array pinv(Operand a, std::optional<double> rcond = {}, bool hermitian = false);
TESSERA_API Array tensorinv(Operand a, int ind = 2);
/// x of tensordot(a, x, x.ndim()) = b.
TESSERA_API Array tensorsolve(Operand a, Operand b);

// --- functions of matrices

/// exp(A), by the Pade approximant of degree 13 with scaling and squaring (Higham 2005); NaN where
/// more than `max_squarings` would be needed.
TESSERA_API Array expm(Operand a, std::int64_t max_squarings = 16);
/// A multiplied n times; of a negative n the inverse.
TESSERA_API Array matrix_power(Operand a, std::int64_t n);
/// The product of all, in the order that takes the fewest multiplications. The first and the last
/// may be vectors.
TESSERA_API Array multi_dot(const std::vector<Array>& arrays,
                            std::source_location loc = std::source_location::current());

// --- numbers of matrices

using v0::matmul;
using v0::norm;
using v0::outer;
using v0::tensordot;
using v0::trace;

/// The number of singular values above `rtol` times the largest; without it, eps max(m, n).
TESSERA_API Array matrix_rank(Operand a, std::optional<double> rtol = {});
/// norm(A) norm(A^-1) of the order: 2, -2, 1, -1, inf, -inf, or "fro" and "nuc" by their names.
TESSERA_API Array cond(Operand a, double ord = 2);
TESSERA_API Array cond(Operand a, const std::string& ord);

struct VectorNormOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  double ord = 2;
};
/// The norm of the vectors along the axes, flattened; all where none is named.
TESSERA_API Array vector_norm(Operand x, const VectorNormOptions& o = {});
struct MatrixNormOptions {
  detail::Named named = detail::Named();
  bool keepdims = false;
  std::string ord = "fro";
};
/// The norm of matrices by its name: "fro", "nuc", "1", "-1", "2", "-2", "inf", "-inf".
TESSERA_API Array matrix_norm(Operand x, const MatrixNormOptions& o = {});

}  // namespace tessera::inline v0::linalg
