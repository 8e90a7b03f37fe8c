// Factorisations of matrices.
#include <tessera/linalg.h>

#include "api/linalg/matrix_operand.h"

#include <algorithm>

namespace tessera::inline v0::linalg {

using ops::columns_of;
using ops::rows_of;

Array cholesky(Operand a, const CholeskyOptions& o) {
  return of_matrix("linalg.cholesky", a, true, [&](Value x) -> Values {
    if (o.symmetrize)
      x = symmetrized(x);
    else if (o.upper)
      x = ops::adjoint(x);
    const Value l = ops::cholesky(x);
    return {o.upper ? ops::adjoint(l) : l};
  })[0];
}

ChoFactor cho_factor(Operand a, bool lower) {
  const InFunction called("linalg.cho_factor", a.loc);
  return {cholesky(a, {.upper = !lower, .symmetrize = false}), lower};
}

Array cho_solve(const ChoFactor& factor, Operand b) {
  const Array both[]{factor.c, b.array};
  return detail::composite1(
      "linalg.cho_solve", std::span<const Array>(both), b.loc,
      [&](Builder&, std::span<const Value> in) {
        const Computed c = computed(in);
        need_square("linalg.cho_solve", c.values[0], b.loc);
        const System s = system_of("linalg.cho_solve", c.values[0], c.values[1], b.loc);
        const auto yes = ops::Transposed::adjoint, no = ops::Transposed::no;
        const Value y = ops::triangular_solve(
            s.a, s.b, {.lower = factor.lower, .transposed = factor.lower ? no : yes});
        return c.back(s.solution(ops::triangular_solve(
            s.a, y, {.lower = factor.lower, .transposed = factor.lower ? yes : no})));
      });
}

LU lu(Operand a) {
  const std::vector<Array> out = of_matrix("linalg.lu", a, false, [](Value x) -> Values {
    const Values f = ops::lu(x);
    const std::int64_t m = rows_of(x.shape()), n = columns_of(x.shape()), k = std::min(m, n);
    const Shape square = ops::with_matrix(x.shape(), m, m);
    // Row p(j) of A is row j of L U.
    const Value row = ops::iota(*x.builder, DType::int32, square, square.rank() - 2);
    const Value p =
        ops::convert(ops::eq(row, ops::along_columns(f[2], square)), real_dtype(x.dtype()));
    Value l = ops::lower_triangle(ops::submatrix(f[0], 0, m, 0, k), -1);
    l = ops::add(l, ops::identity_like(*x.builder, x.dtype(), l.shape()));
    return {p, l, ops::upper_triangle(ops::submatrix(f[0], 0, k, 0, n))};
  });
  return {out[0], out[1], out[2]};
}

LUFactor lu_factor(Operand a) {
  const std::vector<Array> out =
      of_matrix("linalg.lu_factor", a, true, [](Value x) { return ops::lu(x); });
  return {out[0], out[1], out[2]};
}

Array lu_solve(const LUFactor& factor, Operand b, int trans) {
  if (trans < 0 || trans > 2)
    Message("linalg.lu_solve")
        .problem("trans is " + std::to_string(trans))
        .rule("0 solves A x = b, 1 A^T x = b, 2 A^H x = b")
        .from(b.loc)
        .advice("pass one of them")
        .raise<Error>();
  const Array all[]{factor.lu, b.array, factor.permutation};
  return detail::composite1(
      "linalg.lu_solve", std::span<const Array>(all), b.loc,
      [&](Builder& builder, std::span<const Value> in) {
        const Computed c = computed(in.first(2));
        need_square("linalg.lu_solve", c.values[0], b.loc);
        const System s = system_of("linalg.lu_solve", c.values[0], c.values[1], b.loc);
        Shape order_shape(s.a.shape().begin(), s.a.shape().end() - 1);
        Value order = detail::broadcast_to(in[2], order_shape);
        if (trans == 0) {
          const Value y = ops::triangular_solve(s.a, ops::rows_in_order(s.b, order),
                                                {.lower = true, .unit_diagonal = true});
          return c.back(s.solution(ops::triangular_solve(s.a, y, {.lower = false})));
        }
        const auto t = trans == 1 ? ops::Transposed::yes : ops::Transposed::adjoint;
        Value y = ops::triangular_solve(s.a, s.b, {.lower = false, .transposed = t});
        y = ops::triangular_solve(s.a, y, {.lower = true, .unit_diagonal = true, .transposed = t});
        const int last = order_shape.rank() - 1;
        const Value both[]{order, ops::iota(builder, DType::int32, order_shape, last)};
        return c.back(s.solution(ops::rows_in_order(y, ops::sort(both, last)[1])));
      });
}

QR qr(Operand a, const std::string& mode) {
  if (mode != "reduced" && mode != "complete")
    Message("linalg.qr")
        .problem("the mode \"" + mode + "\"")
        .rule("the modes are \"reduced\" and \"complete\"")
        .from(a.loc)
        .advice("leave it out for \"reduced\"; r alone is qr(a).r")
        .raise<Error>();
  const std::vector<Array> out =
      of_matrix("linalg.qr", a, false, [&](Value x) { return ops::qr(x, mode == "complete"); });
  return {out[0], out[1]};
}

SVD svd(Operand a, bool full_matrices) {
  const std::vector<Array> out =
      of_matrix("linalg.svd", a, false, [&](Value x) { return ops::svd(x, true, full_matrices); });
  return {out[1], out[0], out[2]};
}
Array svdvals(Operand a) {
  return of_matrix("linalg.svdvals", a, false,
                   [](Value x) { return ops::svd(x, false, false); })[0];
}

Eigh eigh(Operand a) {
  const std::vector<Array> out =
      of_matrix("linalg.eigh", a, true, [](Value x) { return ops::eigh(symmetrized(x), true); });
  return {out[0], out[1]};
}
Array eigvalsh(Operand a) {
  return of_matrix("linalg.eigvalsh", a, true,
                   [](Value x) { return ops::eigh(symmetrized(x), false); })[0];
}

Eig eig(Operand a) {
  const std::vector<Array> out =
      of_matrix("linalg.eig", a, true, [](Value x) { return ops::eig(x, true); });
  return {out[0], out[1]};
}
Array eigvals(Operand a) {
  return of_matrix("linalg.eigvals", a, true, [](Value x) { return ops::eig(x, false); })[0];
}

}  // namespace tessera::inline v0::linalg
