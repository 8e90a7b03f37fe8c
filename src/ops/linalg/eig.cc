// Eigenvalues and eigenvectors of general square matrices.
#include "ops/linalg/calls.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

namespace tessera::inline v0::ops {

Values eig(Value a, bool vectors) { return a.builder->emit("eig", {{a}}, {{"vectors", vectors}}); }

namespace {

std::vector<Type> eig_infer(const InferArgs& a) {
  check_square(a);
  const Type& x = a.inputs[0];
  const DType dtype = complex_dtype(x.dtype);
  std::vector<Type> out{Type(dtype, with_vector(x.shape, columns_of(x.shape)))};
  if (a.attrs.flag("vectors")) out.emplace_back(dtype, x.shape);
  return out;
}

// Sums over rows, broadcast back over the rows.
Value over_rows(Value x) { return along_columns(reduce_sum(x, {x.rank() - 2}), x.shape()); }

// The column's element of greatest magnitude, broadcast over the rows.
Value greatest(Value x) {
  const Value magnitude = abs(x);
  const Value row = iota(*x.builder, DType::int32, x.shape(), x.rank() - 2);
  const Value at = along_columns(argmax(magnitude, x.rank() - 2), x.shape());
  return over_rows(select(eq(row, at), x, zeros_like(x)));
}

// dw = diag(V^-1 dA V), and dV = V (F o V^-1 dA V) with F(i, j) = 1 / (w_j - w_i) off the diagonal.
// dV has a free multiple of each column, which is chosen so that the column keeps length 1 and a
// real greatest element.
MaybeValues eig_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return MaybeValues(a.outputs.size());
  const bool vectors = a.attrs.flag("vectors");
  const Values both = vectors ? Values(a.outputs.begin(), a.outputs.end()) : eig(a.inputs[0], true);
  const Value w = both[0], v = both[1], da = in_dtype(*a.tangents[0], v.dtype());
  const Value seen = solve(v, matmul(da, v));
  const Value values = diagonal_of(seen);
  if (!vectors) return {values};
  const Shape& shape = seen.shape();
  const Value one = identity_like(a.b, w.dtype(), shape);
  const Value gap = sub(along_columns(w, shape), along_rows(w, shape));
  const Value f = sub(div(full_like(gap, 1), add(gap, one)), one);
  Value dv = matmul(v, mul(f, seen));
  const Value longer = in_dtype(real(over_rows(mul(conj(v), dv))), v.dtype());
  dv = sub(dv, mul(v, longer));
  const Value row = iota(a.b, DType::int32, shape, shape.rank() - 2);
  const Value at = along_columns(argmax(abs(v), shape.rank() - 2), shape);
  const Value turned = over_rows(select(eq(row, at), dv, zeros_like(dv)));
  const Value phase = div(imag(turned), real(greatest(v)));
  return {values, sub(dv, mul(v, complex(zeros_like(phase), phase)))};
}

}  // namespace

Value left_eigenvectors(Value right) {
  if (right.shape().count() == 0) return right;
  const Value u =
      adjoint(solve(right, identity_like(*right.builder, right.dtype(), right.shape())));
  const Value length = sqrt(over_rows(real(mul(conj(u), u))));
  const Value unit = div(u, in_dtype(length, u.dtype()));
  const Value most = greatest(unit);
  return mul(unit, div(conj(most), in_dtype(abs(most), u.dtype())));
}

void register_eig(Registry& r) {
  Op op = eigen_op(
      "eig",
      "A V = V diag(w) of each square matrix in the last two dimensions: complex, in the order "
      "that LAPACK finds them. The results are w and, where `vectors` are asked for, V: each "
      "column of length 1, its greatest element real. NaN where an element is not finite. "
      "Derivatives are those of distinct eigenvalues.",
      eig_call);
  op.infer = eig_infer;
  op.jvp = eig_jvp;
  op.cost = matrix_cost([](double n, double) { return 25 * n * n * n; });
  op.waived["transpose"] = "its tangent is made of triangular_solve and products";
  op.examples = [] {
    // Positive off-diagonal elements keep the two eigenvalues of a 2 by 2 matrix apart.
    const auto apart = [](DType dtype, Shape shape) {
      OpExample e = eigen_example(dtype, std::move(shape), true);
      e.lo = 0.5, e.hi = 1.5;
      return e;
    };
    return std::vector<OpExample>{
        eigen_example(DType::float32, {3, 3}, false), apart(DType::float64, {2, 2, 2}),
        apart(DType::complex128, {2, 2}), eigen_example(DType::complex64, {2, 2}, false),
        eigen_example(DType::float64, {4, 4}, false)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
