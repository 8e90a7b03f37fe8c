// Linear systems, inverses and determinants.
#include <tessera/linalg.h>
#include <tessera/manipulation.h>

#include "api/linalg/matrix_operand.h"
#include "api/linalg/pseudo_inverse.h"

#include <algorithm>
#include <limits>

namespace tessera::inline v0::linalg {

using ops::columns_of;
using ops::rows_of;

namespace {

double epsilon_of(DType d) {
  return real_dtype(d) == DType::float64
             ? std::numeric_limits<double>::epsilon()
             : static_cast<double>(std::numeric_limits<float>::epsilon());
}

template <class F>
Array of_system(const char* function, const Operand& a, const Operand& b, F&& body) {
  const Array both[]{a.array, b.array};
  return detail::composite1(function, std::span<const Array>(both), a.loc,
                            [&](Builder&, std::span<const Value> in) {
                              const Computed c = computed(in);
                              need_square(function, c.values[0], a.loc);
                              const System s = system_of(function, c.values[0], c.values[1], a.loc);
                              return c.back(s.solution(body(s.a, s.b)));
                            });
}

}  // namespace

Array solve_triangular(Operand a, Operand b, const TriangularOptions& o) {
  if (o.trans < 0 || o.trans > 2)
    Message("linalg.solve_triangular")
        .problem("trans is " + std::to_string(o.trans))
        .rule("0 solves A x = b, 1 A^T x = b, 2 A^H x = b")
        .from(a.loc)
        .advice("pass one of them")
        .raise<Error>();
  return of_system("linalg.solve_triangular", a, b, [&](Value m, Value right) {
    return ops::triangular_solve(m, right,
                                 {.lower = o.lower,
                                  .unit_diagonal = o.unit_diagonal,
                                  .transposed = static_cast<ops::Transposed>(o.trans)});
  });
}

Array triangular_solve(Operand a, Operand b, const TriangularSolveOptions& o) {
  const Array both[]{a.array, b.array};
  return detail::composite1("linalg.triangular_solve", std::span<const Array>(both), a.loc,
                            [&](Builder&, std::span<const Value> in) {
                              const Computed c = computed(in);
                              need_square("linalg.triangular_solve", c.values[0], a.loc);
                              Value m = c.values[0];
                              const bool conjugate = o.conjugate_a && is_complex(m.dtype());
                              if (conjugate && !o.transpose_a) m = ops::conj(m);
                              const auto t = !o.transpose_a ? ops::Transposed::no
                                             : conjugate    ? ops::Transposed::adjoint
                                                            : ops::Transposed::yes;
                              return c.back(ops::triangular_solve(m, c.values[1],
                                                                  {.left_side = o.left_side,
                                                                   .lower = o.lower,
                                                                   .unit_diagonal = o.unit_diagonal,
                                                                   .transposed = t}));
                            });
}

Array solve(Operand a, Operand b) { return of_system("linalg.solve", a, b, ops::solve); }

Array inv(Operand a) {
  return of_matrix("linalg.inv", a, true, [](Value x) -> Values {
    return {ops::solve(x, ops::identity_like(*x.builder, x.dtype(), x.shape()))};
  })[0];
}

namespace {

// The sign of each matrix's row permutation, 1 or -1, in `dtype`.
Value sign_of_exchanges(Value pivots, DType dtype) {
  Builder& b = *pivots.builder;
  const int last = pivots.rank() - 1;
  const Value own = ops::iota(b, DType::int32, pivots.shape(), last);
  const Value moved = ops::convert(ops::ne(pivots, own), DType::int32);
  const Value odd = ops::rem(
      ops::reduce_sum(moved, {last}),
      ops::full(b, DType::int32, Shape(pivots.shape().begin(), pivots.shape().end() - 1), 2));
  const Value one = ops::full(b, dtype, odd.shape(), 1);
  return ops::select(ops::eq(odd, ops::zeros_like(odd)), one, ops::neg(one));
}

// Element (i, j) of each matrix.
Value matrix_element(Value x, std::int64_t i, std::int64_t j) {
  return ops::reshape(ops::submatrix(x, i, i + 1, j, j + 1),
                      Shape(x.shape().begin(), x.shape().end() - 2));
}

// By the definition: a polynomial, so the derivatives exist even if a pivot is zero.
Value small_determinant(Value x) {
  Builder& b = *x.builder;
  const Shape batch(x.shape().begin(), x.shape().end() - 2);
  const auto e = [&](std::int64_t i, std::int64_t j) { return matrix_element(x, i, j); };
  const auto minor = [&](std::int64_t i, std::int64_t j) {
    return ops::sub(ops::mul(e(1, i), e(2, j)), ops::mul(e(1, j), e(2, i)));
  };
  switch (rows_of(x.shape())) {
    case 0: return ops::full(b, x.dtype(), batch, 1);
    case 1: return e(0, 0);
    case 2: return ops::sub(ops::mul(e(0, 0), e(1, 1)), ops::mul(e(0, 1), e(1, 0)));
    default: break;
  }
  const Value first = ops::mul(e(0, 0), minor(1, 2)), second = ops::mul(e(0, 1), minor(0, 2)),
              third = ops::mul(e(0, 2), minor(0, 1));
  return ops::add(ops::sub(first, second), third);
}

}  // namespace

Array det(Operand a) {
  return of_matrix("linalg.det", a, true, [](Value x) -> Values {
    if (rows_of(x.shape()) <= 3) return {small_determinant(x)};
    const Values f = ops::lu(x);
    const Value d = ops::diagonal_of(f[0]);
    return {ops::mul(ops::reduce_prod(d, {d.rank() - 1}), sign_of_exchanges(f[1], x.dtype()))};
  })[0];
}

SlogDet slogdet(Operand a) {
  const std::vector<Array> out = of_matrix("linalg.slogdet", a, true, [](Value x) -> Values {
    const Values f = ops::lu(x);
    const Value d = ops::diagonal_of(f[0]), magnitude = ops::abs(d);
    const int last = d.rank() - 1;
    Value sign;
    if (is_complex(d.dtype())) {
      const Value zero = ops::eq(magnitude, ops::zeros_like(magnitude));
      const Value safe = ops::select(zero, ops::full_like(magnitude, 1), magnitude);
      sign = ops::div(d, ops::convert(safe, d.dtype()));
    } else {
      sign = ops::sign(d);
    }
    return {ops::mul(ops::reduce_prod(sign, {last}), sign_of_exchanges(f[1], x.dtype())),
            ops::reduce_sum(ops::log(magnitude), {last})};
  });
  return {out[0], out[1]};
}

namespace {

double longer_side(const Shape& s) {
  return static_cast<double>(std::max(rows_of(s), columns_of(s)));
}

}  // namespace

Lstsq lstsq(Operand a, Operand b, std::optional<double> rcond) {
  const Array both[]{a.array, b.array};
  const std::vector<Array> out = detail::composite(
      "linalg.lstsq", both, a.loc, [&](Builder& builder, std::span<const Value> in) {
        const Computed c = computed(in);
        need_matrix("linalg.lstsq", c.values[0], a.loc);
        const System s = system_of("linalg.lstsq", c.values[0], c.values[1], a.loc);
        if (s.a.rank() != 2)
          Message("linalg.lstsq")
              .problem("a has shape " + to_string(in[0].shape()) + " and b has shape " +
                       to_string(in[1].shape()))
              .rule("a is one matrix, and b a vector or one with columns")
              .from(a.loc)
              .advice("map it over batches with vmap")
              .raise<ShapeError>();
        const std::int64_t m = rows_of(s.a.shape()), n = columns_of(s.a.shape());
        const double tolerance = rcond.value_or(epsilon_of(s.a.dtype()) * longer_side(s.a.shape()));
        const Value singular = ops::svd(s.a, true, false)[0];
        const Value x = least_squares(s.a, s.b, tolerance);
        const Value inverse = inverse_above(singular, tolerance);
        const Value rank = ops::reduce_sum(
            ops::convert(ops::ne(inverse, ops::zeros_like(inverse)), DType::int32), {0});
        const Value off = ops::abs(ops::sub(s.b, ops::matmul(s.a, x)));
        Value residuals = ops::reduce_sum(ops::mul(off, off), {0});
        const Value full = detail::broadcast_to(
            ops::eq(rank, ops::full(builder, DType::int32, Shape(), static_cast<double>(n))),
            residuals.shape());
        residuals = ops::select(
            full, residuals, ops::full_like(residuals, std::numeric_limits<double>::quiet_NaN()));
        if (m <= n) residuals = ops::slice(residuals, {0}, {0}, {1});
        return Values{c.back(s.solution(x)), c.back(residuals), rank, c.back(singular)};
      });
  return {out[0], out[1], out[2], out[3]};
}

Array pinv(Operand a, std::optional<double> rcond, bool hermitian) {
  return of_matrix("linalg.pinv", a, hermitian, [&](Value x) -> Values {
    const double tolerance = rcond.value_or(10 * epsilon_of(x.dtype()) * longer_side(x.shape()));
    return {pseudo_inverse(hermitian ? symmetrized(x) : x, tolerance, hermitian)};
  })[0];
}

namespace {
std::int64_t pivot_count(const Shape& s, std::size_t first, std::size_t end) {
  std::int64_t n = 1;
  for (std::size_t i = first; i < end; ++i) n *= s[i];
  return n;
}
}  // namespace

Array tensorinv(Operand a, int ind) {
  const InFunction called("linalg.tensorinv", a.loc);
  const Shape shape = a.array.shape(a.loc);
  const auto first = static_cast<std::size_t>(std::max(0, ind));
  if (ind < 1 || ind > shape.rank() ||
      pivot_count(shape, 0, first) != pivot_count(shape, first, shape.size()))
    Message("linalg.tensorinv")
        .problem("ind is " + std::to_string(ind) + " for an operand of shape " + to_string(shape))
        .rule("the first ind axes have as many elements as the others")
        .from(a.loc)
        .advice("check ind, which is 2 unless given")
        .raise<ShapeError>();
  const std::int64_t n = pivot_count(shape, 0, first);
  Shape turned(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
  for (std::size_t i = 0; i < first; ++i) turned.push_back(shape[i]);
  return reshape(inv(reshape(a, {n, n})), turned);
}

Array tensorsolve(Operand a, Operand b) {
  const InFunction called("linalg.tensorsolve", a.loc);
  const Shape shape = a.array.shape(a.loc);
  const Shape right = b.array.shape(b.loc);
  const std::int64_t n = right.count();
  const auto first = std::min(right.size(), shape.size());
  if (!std::equal(right.begin(), right.end(), shape.begin(),
                  shape.begin() + static_cast<std::ptrdiff_t>(first)) ||
      pivot_count(shape, first, shape.size()) != n)
    Message("linalg.tensorsolve")
        .problem("a has shape " + to_string(shape) + " and b has shape " + to_string(right))
        .rule("a's first axes are b's, and the others have as many elements")
        .from(a.loc)
        .advice("transpose a")
        .raise<ShapeError>();
  return reshape(solve(reshape(a, {n, n}), ravel(b)),
                 Shape(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()));
}

}  // namespace tessera::inline v0::linalg
