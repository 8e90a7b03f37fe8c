// Reduction of matrices to simpler forms by unitary ones, and functions computed from these forms.
#include <tessera/matrix_forms.h>

#include "api/linalg/matrix_operand.h"
#include "ops/linalg/householder.h"
#include "ops/linalg/schur.h"
#include "ops/linalg/tridiagonal.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace tessera::inline v0::linalg {

using ops::columns_of;
using ops::rows_of;

Schur schur(Operand a, const std::string& output) {
  static const std::string kOwn("real"), kWhole("complex");
  const bool own = output == kOwn;
  if (!own && output != kWhole)
    Message("linalg.schur")
        .problem("the output \"" + output + "\"")
        .rule("it is \"real\" or \"complex\"")
        .from(a.loc)
        .advice("leave it out for the form of a's own kind")
        .raise<Error>();
  const std::vector<Array> out = of_matrix("linalg.schur", a, true, [&](Value x) {
    return ops::schur(own ? x : ops::in_dtype(x, complex_dtype(x.dtype())));
  });
  return {out[0], out[1]};
}

Hessenberg hessenberg(Operand a) {
  const std::vector<Array> out = of_matrix("linalg.hessenberg", a, true, ops::hessenberg);
  return {out[0], out[1]};
}

namespace {

Value moved_first(Value x, int from) {
  Ints order{from};
  for (int d = 0; d < x.rank(); ++d)
    if (d != from) order.push_back(d);
  return ops::transpose(x, order);
}
Value spread(Value scalar, const Shape& shape) { return ops::broadcast_in_dim(scalar, shape, {}); }
Value positions_along(Builder& b, const Shape& vector) {
  return ops::iota(b, DType::int64, vector, vector.rank() - 1);
}

// Column j of U with U^2 = T, from the bottom up, given the columns before: u_i = (t_i - sum of
// u(i, k) u_k for the k between) / (u(i, i) + u(j, j)), or 0 if nothing is left of t_i (Bjorck and
// Hammarling 1983).
ProgramPtr root_column(DType dtype, const Shape& vector) {
  const int last = vector.rank() - 1;
  const Shape one(vector.begin(), vector.end() - 1);
  Builder b;
  const Value t = b.input(Type(dtype, vector)), own = b.input(Type(dtype, one)),
              j = b.input(Type(DType::int64, Shape())), u = b.input(Type(dtype, vector)),
              row = b.input(Type(dtype, vector)), i = b.input(Type(DType::int64, Shape()));
  const Value at = positions_along(b, vector), zero = ops::zeros_like(u),
              here = ops::eq(at, spread(i, vector));
  const auto sum = [&](Value where, Value x) {
    return ops::reduce_sum(ops::select(where, x, zero), {last});
  };
  const Value between = ops::and_(ops::gt(at, spread(i, vector)), ops::lt(at, spread(j, vector)));
  const Value rest = ops::sub(sum(here, t), sum(between, ops::mul(row, u)));
  const Value done = ops::eq(rest, ops::zeros_like(rest)), base = ops::add(sum(here, row), own);
  const Value value = ops::select(done, ops::zeros_like(rest),
                                  ops::div(rest, ops::select(done, ops::full_like(base, 1), base)));
  const Value above = ops::and_(here, spread(ops::lt(i, j), vector));
  return b.finish(Values{ops::select(above, ops::along_rows(value, vector), u)});
}

// On the negative real axis, a rounding error would decide which of the two roots an eigenvalue
// gets, and differ between processors. Eigenvalues within rounding error of the axis are therefore
// treated as lying on it.
Value eigenvalue_roots(Value t) {
  const int last = t.rank() - 1;
  const Value own = ops::diagonal_of(t), re = ops::real(own), im = ops::imag(own);
  const double eps = re.dtype() == DType::float64
                         ? std::numeric_limits<double>::epsilon()
                         : static_cast<double>(std::numeric_limits<float>::epsilon());
  const Value largest = ops::reduce_max(ops::abs(t), {last - 1, last});
  const Value near = ops::along_rows(
      ops::mul(largest, ops::full_like(largest, eps * static_cast<double>(columns_of(t.shape())))),
      re.shape());
  const Value on_axis = ops::and_(ops::lt(re, ops::zeros_like(re)), ops::le(ops::abs(im), near));
  return ops::sqrt(ops::complex(re, ops::select(on_axis, ops::zeros_like(im), im)));
}

// The square root of upper triangular matrices, computed column by column.
Value root_of_triangle(Value t) {
  Builder& b = *t.builder;
  const Shape& s = t.shape();
  const int rank = s.rank();
  const std::int64_t n = columns_of(s);
  if (s.count() == 0) return t;
  const Value numbers = ops::iota(b, DType::int64, Shape{n}, 0);
  const Shape vector(s.begin(), s.end() - 1), one(s.begin(), s.end() - 2);
  Builder step;
  const Value all = step.input(Type(t.dtype(), s)), column = step.input(Type(t.dtype(), vector)),
              own = step.input(Type(t.dtype(), one)), j = step.input(Type(DType::int64, Shape()));
  const Value at = positions_along(step, vector);
  const Value begun = ops::select(ops::eq(at, spread(j, vector)), ops::along_rows(own, vector),
                                  ops::zeros_like(column));
  const Values rows{moved_first(all, rank - 2), ops::iota(step, DType::int64, Shape{n}, 0)};
  const Value made = ops::scan(root_column(t.dtype(), vector), Values{column, own, j},
                               Values{begun}, rows, n, true, step)[0];
  const Value mine = ops::eq(ops::iota(step, DType::int64, s, rank - 1), spread(j, s));
  const ProgramPtr body = step.finish(Values{ops::select(mine, ops::along_rows(made, s), all)});
  const Value roots = eigenvalue_roots(t);
  const Values columns{moved_first(t, rank - 1), moved_first(roots, rank - 2), numbers};
  return ops::scan(body, {}, Values{ops::diagonal_matrix(roots)}, columns, n, false, b)[0];
}

}  // namespace

Array sqrtm(Operand a) {
  return of_matrix("linalg.sqrtm", a, true, [](Value x) -> Values {
    const Values f = ops::schur(ops::in_dtype(x, complex_dtype(x.dtype())));
    return {ops::matmul(ops::matmul(f[1], root_of_triangle(f[0])), ops::adjoint(f[1]))};
  })[0];
}

Array householder_product(Operand a, Operand taus) {
  const Array both[]{a.array, taus.array};
  return detail::composite1(
      "linalg.householder_product", std::span<const Array>(both), a.loc,
      [&](Builder&, std::span<const Value> in) {
        const Computed c = computed(in);
        const Value x = c.values[0], t = c.values[1];
        need_matrix("linalg.householder_product", x, a.loc);
        const std::int64_t m = rows_of(x.shape()), n = columns_of(x.shape());
        Shape few(x.shape().begin(), x.shape().end() - 2);
        if (t.rank() > 0) few.push_back(t.shape().back());
        if (t.rank() == 0 || t.shape() != few || few.back() > n || n > m)
          Message("linalg.householder_product")
              .problem("a has shape " + to_string(x.shape()) + " and taus has shape " +
                       to_string(t.shape()))
              .rule(
                  "a has a reflection in each column, no more columns than rows, and taus a number "
                  "for each of the first")
              .from(a.loc)
              .advice("give both the same axes before: (..., m, n) and (..., k), k <= n <= m")
              .raise<ShapeError>();
        return c.back(ops::householder_product(x, t));
      });
}

Array tridiagonal_solve(Operand dl, Operand d, Operand du, Operand b) {
  const Array all[]{dl.array, d.array, du.array, b.array};
  return detail::composite1(
      "linalg.tridiagonal_solve", std::span<const Array>(all), d.loc,
      [&](Builder&, std::span<const Value> in) {
        Values given(in.begin(), in.end());
        for (const std::size_t i : {0u, 1u, 2u, 0u, 1u})
          detail::promote_inexact(given[i], given[3]);
        const Computed c = computed(given);
        Shape vector = c.values[3].shape();
        if (!vector.empty()) vector.erase(vector.end() - 1);
        bool fits = !vector.empty();
        for (std::size_t i = 0; i < 3; ++i) fits = fits && c.values[i].shape() == vector;
        if (!fits)
          Message("linalg.tridiagonal_solve")
              .problem("the diagonals have shapes " + to_string(in[0].shape()) + ", " +
                       to_string(in[1].shape()) + " and " + to_string(in[2].shape()) +
                       ", and b has shape " + to_string(in[3].shape()))
              .rule("diagonals are (..., n), all of one length, and b (..., n, k)")
              .from(d.loc)
              .advice("of one right side make a column: expand_dims(b, -1)")
              .raise<ShapeError>();
        return c.back(ops::tridiagonal_solve(c.values[0], c.values[1], c.values[2], c.values[3]));
      });
}

}  // namespace tessera::inline v0::linalg
