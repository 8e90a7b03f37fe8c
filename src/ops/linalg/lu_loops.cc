// LU factorisation in panels, with row exchanges.
#include "ops/linalg/blocks.h"
#include "ops/linalg/loop_parts.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"
#include "ops/movement/movement.h"

namespace tessera::inline v0::ops {

namespace {

// The factors of a panel (..., m, w) with w <= m, its w pivots, and the order of its rows.
struct LuPanel {
  Value factors, pivots, order;
};

// Exchanges positions `i`, a scalar, and `other`, one number per vector, of vectors.
Value positions_exchanged(Value v, Value i, Value other) {
  const Value at = iota(*v.builder, DType::int64, v.shape(), v.rank() - 1);
  const Value here = eq(at, spread(i, v.shape())), there = eq(at, over_matrix(other, v.shape()));
  const auto at_place = [&](Value mask) {
    return over_matrix(reduce_sum(select(mask, v, zeros_like(v)), {v.rank() - 1}), v.shape());
  };
  return select(here, at_place(there), select(there, at_place(here), v));
}

// One column per step: the largest element below the finished rows is exchanged to the diagonal,
// and multiples of the column are subtracted from the columns to the right.
LuPanel lu_of_panel(Value a) {
  Builder& b = *a.builder;
  const Shape& s = a.shape();
  const int rank = s.rank();
  const std::int64_t w = columns_of(s);
  const Shape line(s.begin(), s.end() - 1);  // one element a row
  Builder step;
  const Value x = step.input(Type(a.dtype(), s)), order = step.input(Type(DType::int32, line)),
              i = step.input(Type(DType::int64, Shape()));
  const Value row = row_numbers(x), column = column_numbers(x), here = spread(i, s);
  const Value mine = eq(column, here), zero = zeros_like(x);
  const auto column_of = [&](Value y) { return reduce_sum(select(mine, y, zero), {rank - 1}); };
  const auto row_of = [&](Value y, Value rows) {
    return reduce_sum(select(rows, y, zero), {rank - 2});
  };
  const Value candidates = column_of(x);
  const Value size =
      is_complex(a.dtype()) ? add(abs(real(candidates)), abs(imag(candidates))) : abs(candidates);
  const Value at = iota(step, DType::int64, line, line.rank() - 1), begin = spread(i, line);
  const Value open = select(ge(at, begin), size, full_like(size, -1));
  const Value pivot = argmax(open, line.rank() - 1, DType::int32);
  const Value other = convert(pivot, DType::int64);

  const Value is_here = eq(row, here), is_there = eq(row, over_matrix(other, s));
  const Value top = row_of(x, is_there);  // the pivot's row
  const Value moved = select(is_here, along_columns(top, s),
                             select(is_there, along_columns(row_of(x, is_here), s), x));
  const Value lead =
      reduce_sum(select(eq(iota(step, DType::int64, top.shape(), rank - 2), spread(i, top.shape())),
                        top, zeros_like(top)),
                 {rank - 2});
  // A zero pivot means that all elements below are zero, too.
  const Value divisor = select(eq(lead, zeros_like(lead)), full_like(lead, 1), lead);
  const Value below = column_of(moved);
  const Value factors =
      select(gt(at, begin), div(below, over_matrix(divisor, line)), zeros_like(below));
  const Value right = select(gt(column, here), along_columns(top, s), zero);
  const Value rest = sub(moved, mul(along_rows(factors, s), right));
  const Value done = select(and_(mine, gt(row, here)), along_rows(factors, s), rest);
  const ProgramPtr body = step.finish(Values{done, positions_exchanged(order, i, other), pivot});
  const Value in_order = iota(b, DType::int32, line, line.rank() - 1);
  const Values out =
      scan(body, {}, Values{a, in_order}, Values{iota(b, DType::int64, Shape{w}, 0)}, w, false, b);
  return {out[0], first_last(out[2]), out[1]};
}

Value side_by_side(const Values& parts) {
  return parts.size() == 1 ? parts[0] : concatenate(parts, parts[0].rank() - 1);
}

}  // namespace

Values lu_by_loops(Value a, const LoopOptions& options) {
  Builder& b = *a.builder;
  const Shape& s = a.shape();
  const std::int64_t m = rows_of(s), n = columns_of(s), k = std::min(m, n);
  Value order = iota(b, DType::int32, with_vector(s, m), s.rank() - 2);
  if (s.count() == 0) return {a, iota(b, DType::int32, with_vector(s, k), s.rank() - 2), order};
  const Value good = all_finite(a);
  const std::int64_t width = options.width(k);
  Value x = a;
  Values pivots;
  for (std::int64_t c = 0; c < k; c += width) {
    const std::int64_t w = std::min(width, k - c);
    const LuPanel panel = lu_of_panel(submatrix(x, c, m, c, c + w));
    const auto permuted = [&](std::int64_t from, std::int64_t to) {
      return rows_in_order(submatrix(x, c, m, from, to), panel.order);
    };
    Values columns;
    if (c > 0) columns.push_back(permuted(0, c));
    columns.push_back(panel.factors);
    if (c + w < n) {
      const Value right = permuted(c + w, n);
      const Value l = submatrix(panel.factors, 0, w, 0, w);
      const Value top = triangular_solve(l, submatrix(right, 0, w, 0, n - c - w),
                                         {.lower = true, .unit_diagonal = true});
      if (w < m - c) {
        const Value bottom = sub(submatrix(right, w, m - c, 0, n - c - w),
                                 matmul(submatrix(panel.factors, w, m - c, 0, w), top));
        columns.push_back(concatenate(Values{top, bottom}, s.rank() - 2));
      } else {
        columns.push_back(top);
      }
    }
    x = with_rows_from(x, c, side_by_side(columns));
    pivots.push_back(add(panel.pivots, full_like(panel.pivots, static_cast<double>(c))));
    const Value later = elements(order, c, m);
    const Value turned = take_along(later, panel.order, later.rank() - 1);
    order = c == 0 ? turned : side_by_side({elements(order, 0, c), turned});
  }
  // Rows of matrices that are not finite stay where they are.
  const auto if_good = [&](Value v) {
    const Value in_place = iota(b, DType::int32, v.shape(), v.rank() - 1);
    return select(over_matrix(good, v.shape()), v, in_place);
  };
  return {or_nan(good, x), if_good(side_by_side(pivots)), if_good(order)};
}

}  // namespace tessera::inline v0::ops
