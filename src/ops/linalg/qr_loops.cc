// QR factorisation in panels (blocks.h).
#include "ops/linalg/blocks.h"
#include "ops/linalg/householder.h"
#include "ops/linalg/loop_parts.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

#include <limits>

namespace tessera::inline v0::ops {

std::int64_t LoopOptions::width(std::int64_t columns) const {
  if (!exact_products) return std::max<std::int64_t>(1, columns);
  return std::max(panel, (columns + kPanels - 1) / kPanels);
}

Value all_finite(Value a) {
  const Value finite =
      is_complex(a.dtype()) ? and_(is_finite(real(a)), is_finite(imag(a))) : is_finite(a);
  return reduce_and(finite, {a.rank() - 2, a.rank() - 1});
}

Value scale_of(Value a) {
  const Value most = reduce_max(abs(a), {a.rank() - 2, a.rank() - 1});
  return select(eq(most, zeros_like(most)), full_like(most, 1), most);
}

Value or_nan(Value good, Value x) {
  const Value nan = full_like(x, std::numeric_limits<double>::quiet_NaN());
  return select(over_matrix(good, x.shape()), x, nan);
}

Value with_rows_from(Value x, std::int64_t row, Value rows) {
  if (row == 0) return rows;
  const Value above = submatrix(x, 0, row, 0, columns_of(x.shape()));
  return concatenate(Values{above, rows}, x.rank() - 2);
}

namespace {

// T of H_1 H_2 ... = I - V T V^H. It is (I + D S)^-1 D, where D has the taus on its diagonal and S
// is V^H V above the diagonal. In this form taus may be 0.
Value compact_factor(Value v, Value taus) {
  const Value gram = matmul(adjoint(v), v);
  const Value above = mul(along_rows(taus, gram.shape()), upper_triangle(gram, 1));
  const Value one = identity_like(*v.builder, v.dtype(), gram.shape());
  return triangular_solve(add(one, above), diagonal_matrix(taus),
                          {.lower = false, .unit_diagonal = true});
}

}  // namespace

BlockedQr::BlockedQr(Value a, const LoopOptions& options) : options_(options), r_(a) {
  const std::int64_t m = rows_of(a.shape()), n = columns_of(a.shape()), k = std::min(m, n);
  if (a.shape().count() == 0) return;
  const std::int64_t width = options_.width(k);
  Value x = a;
  for (std::int64_t c = 0; c < k; c += width) {
    const std::int64_t w = std::min(width, k - c);
    const PackedQr panel = packed_qr(submatrix(x, c, m, c, c + w), false);
    Block block{c, panel.packed, panel.taus, panel.packed, panel.taus};
    if (options_.exact_products) {
      const Shape& s = panel.packed.shape();
      block.vectors =
          add(lower_triangle(panel.packed, -1), identity_like(*a.builder, a.dtype(), s));
      block.factor = compact_factor(block.vectors, panel.taus);
    }
    Values columns;
    if (c > 0) columns.push_back(submatrix(x, c, m, 0, c));
    columns.push_back(panel.packed);
    if (c + w < n) columns.push_back(apply(block, submatrix(x, c, m, c + w, n), true));
    const Value rows = columns.size() == 1 ? columns[0] : concatenate(columns, x.rank() - 1);
    x = with_rows_from(x, c, rows);
    blocks_.push_back(block);
  }
  r_ = upper_triangle(x);
}

Value BlockedQr::apply(const Block& block, Value x, bool turned) const {
  if (!options_.exact_products) return times_reflections(block.packed, block.taus, x, turned);
  const Value t = turned ? adjoint(block.factor) : block.factor;
  return sub(x, matmul(block.vectors, matmul(t, matmul(adjoint(block.vectors), x))));
}

Value BlockedQr::times(Value x) const {
  const std::int64_t m = rows_of(x.shape()), n = columns_of(x.shape());
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    x = with_rows_from(x, block->first, apply(*block, submatrix(x, block->first, m, 0, n), false));
  return x;
}

Value BlockedQr::q(std::int64_t columns) const {
  const Shape shape = with_matrix(r_.shape(), rows_of(r_.shape()), columns);
  return times(identity_like(*r_.builder, r_.dtype(), shape));
}

Values qr_by_loops(Value a, bool full, const LoopOptions& options) {
  const std::int64_t m = rows_of(a.shape()), n = columns_of(a.shape()), k = std::min(m, n);
  const std::int64_t columns = full ? m : k;
  const BlockedQr factors(a, options);
  const Value good = all_finite(a);
  const Value r = or_nan(good, submatrix(factors.r(), 0, columns, 0, n));
  return {or_nan(good, factors.q(columns)), upper_triangle(r)};
}

}  // namespace tessera::inline v0::ops
