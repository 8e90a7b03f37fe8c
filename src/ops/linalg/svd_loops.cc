// Singular values and vectors by Jacobi's rotations of columns (jacobi.h).
#include "ops/linalg/blocks.h"
#include "ops/linalg/jacobi.h"
#include "ops/linalg/loop_parts.h"
#include "ops/linalg/loops.h"
#include "ops/linalg/matrices.h"
#include "ops/movement/movement.h"

#include <cmath>

namespace tessera::inline v0::ops {

namespace {

Value column_sums(Value x) { return reduce_sum(x, {x.rank() - 2}); }
Value column_squares(Value x) {
  const Value size = abs(x);
  return column_sums(mul(size, size));
}

// One step: the columns of the first `rows` rows of the state become orthogonal in pairs, and
// `worst` is the greatest cosine of an angle between two columns so far. Columns so short that they
// are rounding errors do not count.
void one_sided_step(Values& state, Value& worst, std::int64_t rows) {
  const Value z = state[0];
  const std::int64_t n = columns_of(z.shape()), h = n / 2;
  const double unit = rounding_unit(z.dtype());
  const Value left = submatrix(z, 0, rows, 0, h), right = submatrix(z, 0, rows, h, n);
  const Value p = column_squares(left), q = column_squares(right);
  const Value r = column_sums(mul(is_complex(z.dtype()) ? conj(left) : left, right));
  const Value size = abs(r), lengths = mul(sqrt(p), sqrt(q));
  const Value counts = gt(size, full_like(size, unit * unit));
  const Value safe = select(gt(lengths, zeros_like(lengths)), lengths, size);
  const Value cosine =
      select(counts, div(size, select(counts, safe, full_like(size, 1))), zeros_like(size));
  worst = max(worst, reduce_max(cosine, {cosine.rank() - 1}));
  state[0] = columns_moved(columns_rotated(z, rotations_of(p, q, r)));
}

// For matrices with at least as many rows as columns: A = Q R, and R^H V = W has orthogonal columns
// of the lengths s. With W = U' diag(s), A is (Q V) diag(s) U'^H.
Values svd_of_tall(Value a, bool vectors, bool full, const LoopOptions& options) {
  Builder& b = *a.builder;
  const Shape& s = a.shape();
  const std::int64_t m = rows_of(s), n = columns_of(s), even = n + n % 2;
  const BlockedQr outer(a, options);
  const Value triangle = adjoint(submatrix(outer.r(), 0, n, 0, n));
  // V is below the matrix that is rotated, so that it takes the same rotations. A matrix with an
  // odd number of columns gets a column of zeros, which never rotates.
  const Shape square = with_matrix(s, even, even);
  Value z = padded_to(triangle, n, even);
  const bool with_v = vectors || even > n;
  if (with_v) z = concatenate(Values{z, identity_like(b, a.dtype(), square)}, s.rank() - 2);
  const Value like_worst = reduce_max(abs(z), {z.rank() - 2, z.rank() - 1});
  const double enough = rounding_unit(a.dtype()) * (4 + std::sqrt(static_cast<double>(n)));
  const Values done = swept(
      {z}, like_worst, std::max<std::int64_t>(1, even - 1), enough,
      [n](Values& state, Value& worst) { one_sided_step(state, worst, n); },
      [](const Values&, Value worst) { return worst; });

  const Value w = submatrix(done[0], 0, n, 0, even);
  Value lengths = sqrt(column_squares(w));
  if (even > n) {  // the column of zeros comes last
    const Shape& all = done[0].shape();
    const Value last = submatrix(done[0], rows_of(all) - 1, rows_of(all), 0, even);
    const Value mark = abs(column_sums(last));
    lengths = select(gt(mark, full_like(mark, 0.5)), full_like(lengths, -1), lengths);
  }
  const Values sorted =
      sort(Values{neg(lengths), iota(b, DType::int32, lengths.shape(), lengths.rank() - 1)},
           lengths.rank() - 1);
  const Value values = elements(neg(sorted[0]), 0, n);
  if (!vectors) return {values};
  const auto in_order = [&](Value x) {
    return elements(take_along(x, along_columns(sorted[1], x.shape()), x.rank() - 1), 0, n);
  };
  // Householder's reflections complete the columns of zero singular values to a basis. The diagonal
  // of their triangle has the signs.
  const BlockedQr inner(in_order(w), options);
  const Value diagonal = diagonal_of(inner.r());
  const Value minus = lt(real_part(diagonal), zeros_like(real_part(diagonal)));
  const Value sign = select(minus, full_like(diagonal, -1), full_like(diagonal, 1));
  const Value q = inner.q(n), right = mul(q, along_columns(sign, q.shape()));

  const Value v = in_order(submatrix(done[0], n, 2 * n, 0, even));
  const std::int64_t columns = full ? m : n;
  Value placed = padded_to(v, m, columns);
  if (columns > n) {
    const Value one = identity_like(b, a.dtype(), placed.shape());
    const Value beyond =
        ge(column_numbers(placed), full_like(column_numbers(placed), static_cast<double>(n)));
    placed = select(beyond, one, placed);
  }
  return {values, outer.times(placed), adjoint(right)};
}

}  // namespace

Values svd_by_loops(Value a, bool vectors, bool full_bases, const LoopOptions& options) {
  Builder& b = *a.builder;
  const Shape& s = a.shape();
  const std::int64_t m = rows_of(s), n = columns_of(s), k = std::min(m, n);
  if (s.count() == 0) {
    Values none{full(b, real_dtype(a.dtype()), with_vector(s, k), 0)};
    if (!vectors) return none;
    none.push_back(identity_like(b, a.dtype(), with_matrix(s, m, full_bases ? m : k)));
    none.push_back(identity_like(b, a.dtype(), with_matrix(s, full_bases ? n : k, n)));
    return none;
  }
  // Scaled, so that squares neither overflow nor underflow.
  const Value good = all_finite(a);
  const Value finite = select(over_matrix(good, s), a, zeros_like(a));
  const Value scale = scale_of(finite);
  const Value unit = div(finite, in_dtype(over_matrix(scale, s), a.dtype()));
  const Values factors = svd_of_tall(m < n ? adjoint(unit) : unit, vectors, full_bases, options);
  Values out{or_nan(good, mul(factors[0], over_matrix(scale, factors[0].shape())))};
  if (!vectors) return out;
  const bool wide = m < n;
  out.push_back(or_nan(good, wide ? adjoint(factors[2]) : factors[1]));
  out.push_back(or_nan(good, wide ? adjoint(factors[1]) : factors[2]));
  return out;
}

}  // namespace tessera::inline v0::ops
