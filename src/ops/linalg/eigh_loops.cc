// Eigenvalues and eigenvectors by Jacobi's rotations (jacobi.h).
#include "ops/linalg/blocks.h"
#include "ops/linalg/jacobi.h"
#include "ops/linalg/loop_parts.h"
#include "ops/linalg/loops.h"
#include "ops/linalg/matrices.h"
#include "ops/movement/movement.h"

namespace tessera::inline v0::ops {

namespace {

// The root of the sum of squares over the matrix.
Value frobenius(Value a) {
  const Value size = abs(a);
  return sqrt(reduce_sum(mul(size, size), {a.rank() - 2, a.rank() - 1}));
}

// One step of J^H A J, and V J. The elements that the rotations make zero are set to 0, so that
// rounding errors of the diagonal's size do not remain there.
void jacobi_step(Values& state) {
  Value& a = state[0];
  const std::int64_t n = columns_of(a.shape()), h = n / 2;
  const auto diagonal = [&](std::int64_t row, std::int64_t column) {
    return diagonal_of(submatrix(a, row, row + h, column, column + h));
  };
  const PairRotations j =
      rotations_of(real_part(diagonal(0, 0)), real_part(diagonal(h, h)), diagonal(0, h));
  const Value both = columns_rotated(rows_rotated(a, j), j);
  const Value apart = sub(row_numbers(a), column_numbers(a));
  const Value pair = eq(abs(apart), full_like(apart, static_cast<double>(h)));
  a = rows_moved(columns_moved(select(pair, zeros_like(both), both)));
  if (state.size() > 1) state[1] = columns_moved(columns_rotated(state[1], j));
}

}  // namespace

Values eigh_by_loops(Value a, bool vectors, const LoopOptions&) {
  Builder& b = *a.builder;
  const Shape& s = a.shape();
  const std::int64_t n = columns_of(s), even = n + n % 2;
  const DType real_type = real_dtype(a.dtype());
  if (s.count() == 0) {
    Values none{full(b, real_type, with_vector(s, n), 0)};
    if (vectors) none.push_back(a);
    return none;
  }
  const Value lower = lower_triangle(a), good = all_finite(lower);
  const Value finite = select(over_matrix(good, s), hermitian_from_lower(lower), zeros_like(a));
  const Value scale = scale_of(finite);
  const Value unit = div(finite, in_dtype(over_matrix(scale, s), a.dtype()));

  // A matrix of odd extent gets a row and a column that never rotate. The eigenvalue there is
  // larger than all others, so that it comes last.
  const Shape wide = with_matrix(s, even, even);
  Value x = padded_to(unit, even, even);
  if (even > n) {
    const Value row = iota(b, DType::int64, wide, wide.rank() - 2),
                column = iota(b, DType::int64, wide, wide.rank() - 1);
    const Value corner = and_(eq(row, column), eq(row, full_like(row, static_cast<double>(n))));
    x = select(corner, full_like(x, 2.0 * static_cast<double>(even)), x);
  }
  Values state{x};
  if (vectors) state.push_back(identity_like(b, a.dtype(), wide));
  const Value size = frobenius(unit);
  const auto off_diagonal = [&](const Values& now, Value) {
    const Value at = eq(row_numbers(now[0]), column_numbers(now[0]));
    return frobenius(select(at, zeros_like(now[0]), now[0]));
  };
  // Elements of the scaled matrix are at most 1, so its norm is at least 1 and at most n.
  const Values done = swept(
      state, size, std::max<std::int64_t>(1, even - 1), rounding_unit(a.dtype()),
      [](Values& now, Value&) { jacobi_step(now); }, off_diagonal);

  const Value w = real_part(diagonal_of(done[0]));
  const Values sorted =
      sort(Values{w, iota(b, DType::int32, w.shape(), w.rank() - 1)}, w.rank() - 1);
  const Value values = elements(sorted[0], 0, n);
  Values out{or_nan(good, mul(values, over_matrix(scale, values.shape())))};
  if (vectors) {
    const Value v = take_along(done[1], along_columns(sorted[1], wide), wide.rank() - 1);
    out.push_back(or_nan(good, submatrix(v, 0, n, 0, n)));
  }
  return out;
}

}  // namespace tessera::inline v0::ops
