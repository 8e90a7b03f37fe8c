// Eigenvalues and eigenvectors of Hermitian matrices.
#include "ops/linalg/calls.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

namespace tessera::inline v0::ops {

Values eigh(Value a, bool vectors) {
  return a.builder->emit("eigh", {{a}}, {{"vectors", vectors}});
}

namespace {

std::vector<Type> eigh_infer(const InferArgs& a) {
  check_square(a);
  check_workspace(a);
  const Type& x = a.inputs[0];
  std::vector<Type> out{Type(real_dtype(x.dtype), with_vector(x.shape, columns_of(x.shape)))};
  if (a.attrs.flag("vectors")) out.emplace_back(x.dtype, x.shape);
  return out;
}

// First-order perturbation theory: dw = diag(V^H dA V), dV = V (F o V^H dA V) with F(i, j) = 1 /
// (w_j - w_i), or 0 where the two are equal. Eigenvectors of equal eigenvalues then do not rotate
// into each other, so functions of the space that they span, rather than of the vectors, have the
// right derivative.
MaybeValues eigh_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return MaybeValues(a.outputs.size());
  const bool vectors = a.attrs.flag("vectors");
  const Values both =
      vectors ? Values(a.outputs.begin(), a.outputs.end()) : eigh(a.inputs[0], true);
  const Value w = both[0], v = both[1];
  const Value seen = matmul(matmul(adjoint(v), hermitian_from_lower(*a.tangents[0])), v);
  const Value values = real_part(diagonal_of(seen));
  if (!vectors) return {values};
  const Shape& shape = seen.shape();
  const Value gap = sub(along_columns(w, shape), along_rows(w, shape));
  const Value f = reciprocal_or_zero(zero_by_rounding(gap, w));
  return {values, matmul(v, mul(in_dtype(f, v.dtype()), seen))};
}

}  // namespace

void register_eigh(Registry& r) {
  Op op = eigen_op(
      "eigh",
      "A V = V diag(w) of each Hermitian matrix in the last two dimensions, of which the lower "
      "triangle is read. The results are w, real and ascending, and where `vectors` are asked for "
      "V, whose columns are orthonormal. NaN where an element is not finite. The derivatives of "
      "vectors of equal eigenvalues have no part along each other: they are those of functions of "
      "the eigenvalues and of the space that the vectors span.",
      eigh_call);
  op.infer = eigh_infer;
  op.jvp = eigh_jvp;
  op.cost = matrix_cost([](double n, double) { return 9 * n * n * n; });
  op.waived["transpose"] = "its tangent is made of products";
  op.examples = [] {
    OpExample complex = eigen_example(DType::complex128, {3, 3}, true);
    complex.no_numeric_derivative = "LAPACK chooses the phases of complex vectors";
    return std::vector<OpExample>{eigen_example(DType::float32, {3, 3}, true),
                                  eigen_example(DType::float64, {2, 4, 4}, true), complex,
                                  eigen_example(DType::complex64, {2, 2}, false),
                                  eigen_example(DType::float64, {2, 3, 3}, false)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
