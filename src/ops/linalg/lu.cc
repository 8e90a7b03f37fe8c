// LU factorisation with row exchanges, and the solver based on it.
#include "ops/linalg/calls.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"
#include "ops/movement/movement.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Values lu(Value a) { return a.builder->emit("lu", {{a}}); }

Value permutation_of(Value pivots, std::int64_t rows) {
  Builder& b = *pivots.builder;
  const std::int64_t k = pivots.shape().back(),
                     n = pivots.shape().count() / std::max<std::int64_t>(k, 1);
  Shape result = pivots.shape();
  result.back() = rows;
  const Shape stacked{n, rows};
  Builder step;
  const Value order = step.input(Type(DType::int32, stacked)),
              i = step.input(Type(DType::int32, Shape())),
              other = step.input(Type(DType::int32, Shape{n}));
  const Value at = iota(step, DType::int32, stacked, 1);
  // If the other row does not exist, a row is exchanged with itself.
  const Value known =
      and_(ge(other, zeros_like(other)), lt(other, full_like(other, static_cast<double>(rows))));
  const Value inside = select(known, other, broadcast_in_dim(i, Shape{n}, {}));
  const Value here = eq(at, broadcast_in_dim(i, stacked, {})),
              there = eq(at, broadcast_in_dim(inside, stacked, {0}));
  const auto picked = [&](Value mask) {
    const Value one = reduce_sum(select(mask, order, zeros_like(order)), {1});
    return broadcast_in_dim(one, stacked, {0});
  };
  const ProgramPtr body =
      step.finish(Values{select(here, picked(there), select(there, picked(here), order))});
  const Value numbers = iota(b, DType::int32, Shape{k}, 0);
  const Value each = transpose(reshape(pivots, Shape{n, k}), {1, 0});
  const Value start = iota(b, DType::int32, stacked, 1);
  return reshape(scan(body, {}, Values{start}, Values{numbers, each}, k, false, b)[0], result);
}

Value rows_in_order(Value x, Value order) {
  Shape shape = x.shape();
  shape[shape.size() - 2] = order.shape()[order.shape().size() - 1];
  return take_along(x, along_rows(order, shape), x.rank() - 2);
}

Value solve(Value a, Value b) {
  const Values factors = lu(a);
  const Value permuted = rows_in_order(b, factors[2]);
  const Value y = triangular_solve(factors[0], permuted, {.lower = true, .unit_diagonal = true});
  return triangular_solve(factors[0], y, {.lower = false});
}

namespace {

std::vector<Type> lu_infer(const InferArgs& a) {
  check_matrix(a);
  const Type& x = a.inputs[0];
  const std::int64_t m = rows_of(x.shape), n = columns_of(x.shape);
  return {Type(x.dtype, x.shape), Type(DType::int32, with_vector(x.shape, std::min(m, n))),
          Type(DType::int32, with_vector(x.shape, m))};
}

// P A = L U: L^-1 (P dA) U^-1 is L^-1 dL below the diagonal and dU U^-1 on and above it. L and U
// are completed to square matrices by the identity.
MaybeValues lu_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return MaybeValues(3);
  const Value both = a.outputs[0], moved = rows_in_order(*a.tangents[0], a.outputs[2]);
  const std::int64_t m = rows_of(both.shape()), n = columns_of(both.shape()), k = std::min(m, n);
  const auto square = [&](Value x, std::int64_t size) {
    const Shape shape = with_matrix(both.shape(), size, size);
    const Value filled = padded_to(x, size, size);
    const Value row = iota(a.b, DType::int64, shape, shape.rank() - 2);
    const Value missing = ge(row, full_like(row, static_cast<double>(k)));
    const Value one = identity_like(a.b, both.dtype(), shape);
    return std::pair{filled, select(missing, one, zeros_like(one))};
  };
  Value l = square(lower_triangle(submatrix(both, 0, m, 0, k), -1), m).first;
  l = add(l, identity_like(a.b, both.dtype(), l.shape()));
  const auto [upper, rest] = square(upper_triangle(submatrix(both, 0, k, 0, n)), n);
  const Value u = add(upper, rest);
  const Value left = triangular_solve(l, moved, {.lower = true, .unit_diagonal = true});
  const Value inner = triangular_solve(u, left, {.left_side = false, .lower = false});
  const Value change = add(matmul(l, lower_triangle(inner, -1)), matmul(upper_triangle(inner), u));
  return {change, std::nullopt, std::nullopt};
}

}  // namespace

void register_lu(Registry& r) {
  Op op = factorisation_op(
      "lu",
      "P A = L U of each matrix in the last two dimensions, the largest element of each column "
      "taken for the pivot (by |re| + |im| where it is complex). The results are U and, below its "
      "diagonal, the unit lower triangular "
      "L; the int32 rows that the first rows were exchanged with, one after the other; and the "
      "int32 permutation of rows that comes of it. NaN where an element is not finite.",
      lu_call);
  op.outputs = 3;
  op.infer = lu_infer;
  op.jvp = lu_jvp;
  op.sharding = cut_before({2}, {2, 1, 1});
  op.cost = matrix_cost([](double m, double n) { return m * n * std::min(m, n); });
  op.waived["transpose"] = "its tangent is made of triangular_solve and products";
  op.examples = [] {
    const auto example = [](DType dtype, Shape shape) {
      OpExample e{{Type(dtype, std::move(shape))}, {}};
      e.dominant = true;  // no two elements compete for the pivot
      return e;
    };
    return std::vector<OpExample>{
        example(DType::float32, {3, 3}),   example(DType::float64, {2, 4, 3}),
        example(DType::complex64, {2, 4}), example(DType::complex128, {2, 3, 3}),
        example(DType::float64, {3, 5}),   example(DType::float32, {1, 1})};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
