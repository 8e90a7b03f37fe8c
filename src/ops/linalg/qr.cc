// QR factorisation by Householder reflections.
#include "ops/linalg/calls.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Values qr(Value a, bool full) { return a.builder->emit("qr", {{a}}, {{"full", full}}); }

namespace {

std::int64_t columns_of_q(const Shape& s, bool full) {
  return full ? rows_of(s) : std::min(rows_of(s), columns_of(s));
}

std::vector<Type> qr_infer(const InferArgs& a) {
  check_matrix(a);
  const Type& x = a.inputs[0];
  const std::int64_t m = rows_of(x.shape), n = columns_of(x.shape),
                     k = columns_of_q(x.shape, a.attrs.flag("full"));
  return {Type(x.dtype, with_matrix(x.shape, m, k)), Type(x.dtype, with_matrix(x.shape, k, n))};
}

// Let dA1 and R1 be the first min(m, n) columns of dA and R, and C = Q^H dA1 R1^-1. Then dQ = Q S
// and dR = Q^H dA - S R, where S is skew-Hermitian. S equals C below the diagonal and, on it, the
// imaginary part of C, so that R's diagonal stays real. The change out of the span of Q is dA1
// R1^-1 - Q C. If Q is full, its last columns rotate among themselves no further than necessary.
MaybeValues qr_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return MaybeValues(2);
  const Value q = a.outputs[0], r = a.outputs[1], da = *a.tangents[0];
  const Shape& s = da.shape();
  const std::int64_t m = rows_of(s), n = columns_of(s), k = std::min(m, n),
                     width = columns_of(q.shape());
  const Value moved = triangular_solve(submatrix(r, 0, k, 0, k), submatrix(da, 0, m, 0, k),
                                       {.left_side = false, .lower = false});
  const Value c = matmul(adjoint(q), moved);
  const Value below = padded_to(lower_triangle(c, -1), width, width);
  Value skew = sub(below, adjoint(below));
  if (is_complex(c.dtype())) {
    const Value d = diagonal_of(submatrix(c, 0, k, 0, k));
    const Value imaginary = sub(d, in_dtype(real(d), d.dtype()));
    skew = add(skew, padded_to(diagonal_matrix(imaginary), width, width));
  }
  Value dq = matmul(q, skew);
  if (width < m) dq = add(dq, sub(moved, matmul(q, c)));
  return {dq, sub(matmul(adjoint(q), da), matmul(skew, r))};
}

}  // namespace

void register_qr(Registry& r) {
  Op op = factorisation_op(
      "qr",
      "A = Q R of each matrix (m, n) in the last two dimensions: the columns of Q are orthonormal, "
      "R is upper triangular. Q has as many columns as the smaller of m and n, or m where it is "
      "`full`. NaN where an element is not finite. Derivatives are those of a full rank of the "
      "first columns.",
      qr_call);
  op.attrs = {{"full", AttrKind::boolean, "whether Q is square"}};
  op.outputs = 2;
  op.infer = qr_infer;
  op.jvp = qr_jvp;
  op.sharding = cut_before({2}, {2, 2});
  op.cost = matrix_cost([](double m, double n) { return 4 * m * n * std::min(m, n); });
  op.waived["transpose"] = "its tangent is made of triangular_solve and products";
  op.examples = [] {
    const auto example = [](DType dtype, Shape shape, bool full) {
      OpExample e{{Type(dtype, std::move(shape))}, {{"full", full}}};
      e.dominant = true;
      return e;
    };
    OpExample tall = example(DType::float64, {2, 5, 3}, true);
    tall.no_numeric_derivative =
        "LAPACK turns the last columns of a full Q by more than the derivative says";
    return std::vector<OpExample>{
        example(DType::float32, {3, 3}, false),    example(DType::float64, {2, 4, 3}, false),
        example(DType::complex128, {4, 2}, false), example(DType::complex64, {2, 2, 3}, true),
        example(DType::float64, {3, 5}, false),    tall,
        example(DType::float32, {1, 1}, true)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
