// Factorisations by the libraries of GPUs (cuSOLVER, hipSOLVER), as JAX calls them there. The names
// of their routines have no letter for the dtype, and their options are booleans.
#include "ops/build.h"
#include "stablehlo/emit/factors.h"
#include "stablehlo/emit/rules.h"
#include "stablehlo/emit/target.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::write {

namespace {

LibraryRoutine solver(const Writing& w, const std::string& routine, std::string config = {}) {
  return {std::string(w.block.module.target().prefix) + routine + "_ffi", std::move(config)};
}

std::string setting(const char* name, bool value) {
  return std::string(name) + " = " + (value ? "true" : "false");
}

// One-sided Jacobi, which takes matrices of either form. It returns V and not its adjoint, and
// needs room for all columns of U and V unless both extents are above the largest of its batched
// version.
Names svd_by_jacobi(Writing& w) {
  constexpr std::int64_t kBatched = 32;
  const Type &x = w.in_types[0], &s = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors");
  const std::int64_t m = ops::rows_of(x.shape), n = ops::columns_of(x.shape), k = std::min(m, n);
  const bool thin = !w.attrs.flag("full") && m > kBatched && n > kBatched;
  const Type u(x.dtype, ops::with_matrix(x.shape, m, thin ? k : m)),
      v(x.dtype, ops::with_matrix(x.shape, n, thin ? k : n));
  const Names all = custom_call(
      w,
      solver(w, "gesvdj", setting("compute_uv", vectors) + ", " + setting("full_matrices", !thin)),
      w.in, {{x}}, {{x}, {s, false}, {u}, {v}, info_of(x)});
  if (!vectors) return {all[1]};
  const Names uv =
      by_program(w, {u, v}, {all[2], all[3]}, [&](Builder&, const Values& in) -> Values {
        return {ops::submatrix(in[0], 0, m, 0, ops::columns_of(w.out_types[1].shape)),
                ops::submatrix(ops::adjoint(in[1]), 0, ops::rows_of(w.out_types[2].shape), 0, n)};
      });
  return {all[1], uv[0], uv[1]};
}

// The QR algorithm, which takes no matrix with more columns than rows. Such a matrix is passed row
// by row, which is its transpose column by column; the factors then come back exchanged.
Names svd_by_qr(Writing& w) {
  const Type &x = w.in_types[0], &s = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors");
  const bool transposed = ops::rows_of(x.shape) < ops::columns_of(x.shape);
  const Type none(x.dtype, {});
  const Part u{vectors ? w.out_types[1] : none, vectors && !transposed},
      v{vectors ? w.out_types[2] : none, vectors && !transposed}, matrix{x, !transposed};
  const Names all = custom_call(
      w,
      solver(w, "gesvd",
             setting("compute_uv", vectors) + ", " +
                 setting("full_matrices", w.attrs.flag("full")) + ", " +
                 setting("transposed", transposed)),
      w.in, {matrix}, {matrix, {s, false}, transposed ? v : u, transposed ? u : v, info_of(x)});
  if (!vectors) return {all[1]};
  return {all[1], all[transposed ? 3 : 2], all[transposed ? 2 : 3]};
}

// A pair of conjugate eigenvalues has the real part of its eigenvectors in its first column and the
// imaginary part in its second; the second eigenvector is the conjugate of the first.
Value unpacked_eigenvectors(Value values, Value packed) {
  const Value im = ops::imag(values);
  const Value is_pair = ops::ne(im, ops::zeros_like(im));
  const Value count = ops::cumsum(ops::convert(is_pair, DType::int32), im.rank() - 1);
  const Value is_first =
      ops::eq(ops::rem(count, ops::full_like(count, 2)), ops::full_like(count, 1));
  const Shape& shape = packed.shape();
  const Value zero = ops::zeros_like(packed),
              scalar = ops::zeros(*packed.builder, Type(packed.dtype(), {}));
  const Ints none(shape.size(), 0);
  Ints back = none, forth = none;
  back.back() = -1, forth.back() = 1;
  const Value next = ops::pad(packed, scalar, back, forth, none),
              previous = ops::pad(packed, scalar, forth, back, none);
  const Value pair = ops::along_columns(is_pair, shape),
              first = ops::and_(pair, ops::along_columns(is_first, shape)),
              second = ops::and_(pair, ops::not_(first));
  return ops::complex(ops::select(second, previous, packed),
                      ops::select(first, next, ops::select(second, ops::neg(packed), zero)));
}

}  // namespace

Names solver_lu(Writing& w) { return lu_by(w, solver(w, "getrf")); }
Names solver_qr(Writing& w) { return qr_by(w, solver(w, "geqrf"), solver(w, "orgqr")); }

Names solver_svd(Writing& w) {
  constexpr std::int64_t kJacobi = 1024;
  const Shape& shape = w.in_types[0].shape;
  return std::max(ops::rows_of(shape), ops::columns_of(shape)) <= kJacobi ? svd_by_jacobi(w)
                                                                          : svd_by_qr(w);
}

// The library chooses the algorithm (0), and always computes the eigenvectors.
Names solver_eigh(Writing& w) {
  const Type &x = w.in_types[0], &values = w.out_types[0];
  const Names all =
      custom_call(w, solver(w, "syevd", "algorithm = 0 : ui8, " + setting("lower", true)), w.in,
                  {{x}}, {{x}, {values, false}, info_of(x)});
  return w.attrs.flag("vectors") ? Names{all[1], all[0]} : Names{all[1]};
}

Names solver_eig(Writing& w) {
  const Type &x = w.in_types[0], &values = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors");
  const Names all =
      custom_call(w, solver(w, "geev", setting("left", false) + ", " + setting("right", vectors)),
                  w.in, {{x}}, {{x}, {values, false}, {x}, {x}, info_of(x)});
  if (!vectors) return {all[1]};
  if (is_complex_matrix(w)) return {all[1], all[3]};
  const Names v = by_program(
      w, {values, x}, {all[1], all[3]},
      [](Builder&, const Values& in) -> Values { return {unpacked_eigenvectors(in[0], in[1])}; });
  return {all[1], v[0]};
}

}  // namespace tessera::inline v0::stablehlo::write
