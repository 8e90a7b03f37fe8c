// Linear algebra, under NumPy's names: ts::linalg::solve(a, b).
//
// Matrices are the last two axes; leading axes are batch dimensions. Computations are in
// floating-point or complex numbers: integers become float32 (float64 for 64-bit ones), and 16-bit
// floats are computed in float32 and rounded. All functions throw ShapeError for operands of too
// few axes, for non-square matrices where square ones are required, and for extents that do not
// match. A matrix that contains NaN or infinity gives NaN, and so does one for which the
// factorisation does not exist.
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

/// L of A = L L^H, lower triangular, for a Hermitian positive definite matrix A; with `upper`, U of
/// A = U^H U. With `symmetrize` the input is (A + A^H) / 2; otherwise only one triangle is read.
/// The result is NaN if A is not positive definite.
struct CholeskyOptions {
  detail::Named named = detail::Named();
  bool upper = false;
  bool symmetrize = true;
};
TESSERA_API Array cholesky(Operand a, const CholeskyOptions& o = {});

/// A = P L U: P is a real permutation matrix (m, m), L unit lower triangular (m, k), U upper
/// triangular (k, n), k = min(m, n). Rows are exchanged so that each pivot is the largest of its
/// column, by |re| + |im| if complex.
struct LU {
  Array p, l, u;
};
TESSERA_API LU lu(Operand a);
/// The result of lu_factor. `lu` holds L and U in one matrix, without L's unit diagonal; `pivots`,
/// for each step i, the row (int32, from 0) with which row i was exchanged; `permutation` the
/// resulting order of rows.
struct LUFactor {
  Array lu, pivots, permutation;
};
TESSERA_API LUFactor lu_factor(Operand a);
/// Solves A x = b (trans 0), A^T x = b (1) or A^H x = b (2), given lu_factor(A). b is a vector or a
/// matrix of columns, as in solve.
TESSERA_API Array lu_solve(const LUFactor& factor, Operand b, int trans = 0);

/// The result of cho_factor: one triangle holds the factor, the other is zero.
struct ChoFactor {
  Array c;
  bool lower = false;
};
TESSERA_API ChoFactor cho_factor(Operand a, bool lower = false);
/// Solves A x = b, given cho_factor(A).
TESSERA_API Array cho_solve(const ChoFactor& factor, Operand b);

/// A = Q R with Q^H Q = 1 and R upper triangular. Shapes by `mode`: "reduced" gives Q (m, k), R (k,
/// n), k = min(m, n); "complete" gives Q (m, m), R (m, n).
struct QR {
  Array q, r;
};
TESSERA_API QR qr(Operand a, const std::string& mode = "reduced");

/// A = U diag(s) V^H, s in descending order. The singular vectors of equal singular values are an
/// arbitrary basis of their subspace, and their derivatives have no component within it: these are
/// correct for functions of the singular values, of such subspaces and of U V^H. The full form of a
/// non-square matrix has no derivatives.
struct SVD {
  Array u, s, vh;
};
TESSERA_API SVD svd(Operand a, bool full_matrices = true);
/// The singular values s alone, in descending order: (..., min(m, n)).
TESSERA_API Array svdvals(Operand a);

/// A = V diag(w) V^H for a Hermitian matrix, w real and ascending, the columns of V the
/// eigenvectors. The input is (A + A^H) / 2. The eigenvectors of equal eigenvalues are an arbitrary
/// basis of their subspace, and their derivatives have no component within it: these are correct
/// for functions of the eigenvalues and of such subspaces, but not for V f(w) V^H unless f' is zero
/// there.
struct Eigh {
  Array eigenvalues, eigenvectors;
};
TESSERA_API Eigh eigh(Operand a);
/// The eigenvalues of a Hermitian matrix alone, real and ascending: (..., n).
TESSERA_API Array eigvalsh(Operand a);
/// A V = V diag(w) for any square matrix. The result is complex and in no particular order; the
/// columns of V have length 1, and their largest element is real. Derivatives assume distinct
/// eigenvalues.
struct Eig {
  Array eigenvalues, eigenvectors;
};
TESSERA_API Eig eig(Operand a);
/// The eigenvalues of a square matrix alone, complex and in no particular order: (..., n).
TESSERA_API Array eigvals(Operand a);

// --- equations and inverses

/// `lower`: the triangle of A that is read; `trans`: 0 solves A x = b, 1 A^T x = b, 2 A^H x = b.
struct TriangularOptions {
  detail::Named named = detail::Named();
  bool lower = false;
  int trans = 0;
  bool unit_diagonal = false;
};
/// Solves A x = b for a triangular A. b is a vector (n) or has columns (..., n, k).
TESSERA_API Array solve_triangular(Operand a, Operand b, const TriangularOptions& o = {});
/// Like jax.lax.linalg.triangular_solve: solves op(A) x = b, or x op(A) = b without `left_side`,
/// where op is the transpose, the conjugate, or both.
struct TriangularSolveOptions {
  detail::Named named = detail::Named();
  bool left_side = false;
  bool lower = false;
  bool transpose_a = false;
  bool conjugate_a = false;
  bool unit_diagonal = false;
};
TESSERA_API Array triangular_solve(Operand a, Operand b, const TriangularSolveOptions& o = {});

/// Solves A x = b, where b is a vector (n) or has columns (..., n, k). Batch dimensions broadcast.
TESSERA_API Array solve(Operand a, Operand b);
/// The inverse of a square matrix (..., n, n). A singular matrix gives infinities or NaN.
TESSERA_API Array inv(Operand a);
/// The determinant of a square matrix (..., n, n), with the shape (...).
TESSERA_API Array det(Operand a);
/// The sign of the determinant (of magnitude 1, or 0) and the logarithm of its magnitude.
struct SlogDet {
  Array sign, logabsdet;
};
TESSERA_API SlogDet slogdet(Operand a);

/// `x` is the shortest of the vectors that minimise |A x - b|, for A (m, n) and b (m) or (m, k).
/// Singular values below rcond times the largest count as zero; the default rcond is eps max(m, n).
/// `residuals` are |A x - b|^2 per column, NaN if `rank` (int32) is less than n, and empty if m <=
/// n. `s` are the singular values.
struct Lstsq {
  Array x, residuals, rank, s;
};
TESSERA_API Lstsq lstsq(Operand a, Operand b, std::optional<double> rcond = {});
/// The pseudo-inverse, using the singular values above rcond times the largest; the default rcond
/// is 10 eps max(m, n).
TESSERA_API Array pinv(Operand a, std::optional<double> rcond = {}, bool hermitian = false);
/// The inverse of x as a linear map from its last axes to its first `ind` ones, whose sizes must
/// have equal products.
TESSERA_API Array tensorinv(Operand a, int ind = 2);
/// Solves tensordot(a, x, x.ndim()) = b.
TESSERA_API Array tensorsolve(Operand a, Operand b);

// --- functions of matrices

/// exp(A), by the Pade approximant of degree 13 with scaling and squaring (Higham 2005); NaN if
/// more than `max_squarings` would be needed.
TESSERA_API Array expm(Operand a, std::int64_t max_squarings = 16);
/// The n-th power of A; a negative n uses the inverse.
TESSERA_API Array matrix_power(Operand a, std::int64_t n);
/// The product of all arrays, in the order that needs the fewest multiplications. The first and the
/// last may be vectors.
TESSERA_API Array multi_dot(const std::vector<Array>& arrays,
                            std::source_location loc = std::source_location::current());

// --- norms and other numbers of a matrix

/// The function tessera::matmul.
using v0::matmul;
/// The function tessera::norm.
using v0::norm;
/// The function tessera::outer.
using v0::outer;
/// The function tessera::tensordot.
using v0::tensordot;
/// The function tessera::trace.
using v0::trace;

/// The number of singular values above `rtol` times the largest; the default rtol is eps max(m, n).
TESSERA_API Array matrix_rank(Operand a, std::optional<double> rtol = {});
/// The condition number norm(A) norm(A^-1). `ord` is 2, -2, 1, -1, inf, -inf, or the name "fro" or
/// "nuc".
TESSERA_API Array cond(Operand a, double ord = 2);
TESSERA_API Array cond(Operand a, const std::string& ord);

/// The options of vector_norm: `axis` (by default all axes), `keepdims`, which keeps them with one
/// element, and `ord`, the order of the norm.
struct VectorNormOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  double ord = 2;
};
/// The norm of x along the axes, flattened to vectors; of all of x if no axis is given.
TESSERA_API Array vector_norm(Operand x, const VectorNormOptions& o = {});
/// The options of matrix_norm, whose comment lists the values of `ord`. With `keepdims` the two
/// axes are kept with one element.
struct MatrixNormOptions {
  detail::Named named = detail::Named();
  bool keepdims = false;
  std::string ord = "fro";
};
/// The matrix norm named by `ord`: "fro", "nuc", "1", "-1", "2", "-2", "inf", "-inf".
TESSERA_API Array matrix_norm(Operand x, const MatrixNormOptions& o = {});

}  // namespace tessera::inline v0::linalg
