// Norms of vectors and matrices with NumPy's orders.
#include <tessera/detail/square_range.h>
#include <tessera/reductions.h>

#include "api/trace/composite.h"
#include "ops/linalg/solve.h"

#include <cmath>

namespace tessera::inline v0 {

namespace {

[[noreturn]] void no_such_norm(double ord, const Shape& shape, const Ints& axes,
                               const SourceLoc& loc) {
  const bool matrix = axes.size() == 2;
  Message m("norm");
  m.problem("the order " + to_string(Array(ord)) + " over " + std::to_string(axes.size()) +
            (axes.size() == 1 ? " axis" : " axes") + " of an array of shape " + to_string(shape))
      .rule(matrix ? "the orders of a matrix are 1, -1, 2, -2, inf and -inf, and without one the "
                     "root of the sum of squares"
                   : "an order that is a number is that of vectors, over one axis, or of matrices, "
                     "over two")
      .from(loc)
      .advice(matrix ? "leave the order out, or name one axis: norm(x, {.axis = -1, .ord = 2})"
                     : "name one axis, norm(x, {.axis = -1, .ord = 2}), or use ravel(x)")
      .raise<ShapeError>();
}

// The square root of a sum of squares. If the sum is out of range, a sum of scaled squares replaces
// it; one pass over memory computes all sums. The derivative at zero is zero.
Value root_of_squares(Value x, const Ints& axes) {
  const detail::SquareRange range = detail::square_range(x.dtype());
  const auto squares = [&](Value v) { return ops::reduce_sum(ops::mul(v, v), axes); };
  const auto scaled = [&](double factor) { return ops::mul(x, ops::full_like(x, factor)); };
  const Value plain = squares(x), down = squares(scaled(range.down)),
              up = squares(scaled(range.up));
  const auto like = [&](double value) { return ops::full_like(plain, value); };
  const Value zero = ops::eq(up, like(0));
  const Value small = ops::select(
      zero, like(0), ops::mul(ops::sqrt(ops::select(zero, like(1), up)), like(1 / range.up)));
  const Value large = ops::mul(ops::sqrt(down), like(1 / range.down));
  return ops::select(ops::eq(plain, like(HUGE_VAL)), large,
                     ops::select(ops::lt(plain, like(range.least)), small, ops::sqrt(plain)));
}

// The largest or smallest, along `pick`, of the sums of magnitudes along `sum`.
Value of_sums(Value magnitude, std::int64_t sum, std::int64_t pick, bool largest) {
  Value s = ops::reduce_sum(magnitude, {sum});
  if (pick > sum) --pick;
  return largest ? ops::reduce_max(s, {pick}) : ops::reduce_min(s, {pick});
}

Value of_vector(Value x, const Ints& axes, double ord) {
  Value m = ops::abs(x);
  if (ord == HUGE_VAL) return ops::reduce_max(m, axes);
  if (ord == -HUGE_VAL) return ops::reduce_min(m, axes);
  if (ord == 0)
    return ops::reduce_sum(ops::convert(ops::ne(x, ops::zeros_like(x)), x.dtype()), axes);
  if (ord == 1) return ops::reduce_sum(m, axes);
  if (ord == 2) return root_of_squares(x, axes);
  Value s = ops::reduce_sum(ops::pow(m, ops::full_like(m, ord)), axes);
  return ops::pow(s, ops::full_like(s, 1 / ord));
}

void need_elements(const Shape& shape, const Ints& axes, double ord, const SourceLoc& loc) {
  if (!std::isinf(ord)) return;
  for (std::int64_t a : axes)
    if (shape[static_cast<std::size_t>(a)] == 0)
      Message("norm")
          .problem("an array of shape " + to_string(shape) +
                   " has no elements along the reduced axes")
          .rule("the orders inf and -inf take the largest and the smallest of at least one")
          .from(loc)
          .advice("check the size first")
          .raise<ShapeError>();
}

Value norm_of(Value x, const Ints& axes, std::optional<double> ord, const SourceLoc& loc) {
  if (!ord) return root_of_squares(x, axes);
  need_elements(x.shape(), axes, *ord, loc);
  if (axes.size() == 1 && !std::isnan(*ord)) return of_vector(x, axes, *ord);
  const bool infinite = std::isinf(*ord);
  if (axes.size() != 2 || (std::abs(*ord) != 1 && !infinite))
    no_such_norm(*ord, x.shape(), axes, loc);
  const auto row = axes[0], column = axes[1];
  return infinite ? of_sums(ops::abs(x), column, row, *ord > 0)
                  : of_sums(ops::abs(x), row, column, *ord > 0);
}

// The largest or smallest singular value of the matrices along two axes.
Value of_singular_values(Value x, const Ints& axes, bool largest) {
  Ints order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != axes[0] && d != axes[1]) order.push_back(d);
  order.insert(order.end(), axes.begin(), axes.end());
  const Value s = ops::svd(ops::transpose(x, order), false, false)[0];
  need_elements(s.shape(), {s.rank() - 1}, HUGE_VAL, s.builder->loc);
  return largest ? ops::reduce_max(s, {s.rank() - 1}) : ops::reduce_min(s, {s.rank() - 1});
}

}  // namespace

Array norm(Operand x, const NormOptions& o) {
  return detail::composite1("norm", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    const Ints axes = detail::normalize_axes(o.axis.get(), in[0].rank(), "norm", x.loc);
    Value v = detail::to_inexact(in[0]);
    const bool singular = axes.size() == 2 && o.ord && std::abs(*o.ord) == 2;
    if (is_complex(v.dtype()) && !singular) v = ops::abs(v);  // the norms of the magnitudes
    const Type result = v.type();
    if (result.dtype == DType::float16 || result.dtype == DType::bfloat16)
      v = ops::convert(v, DType::float32);
    const Value found =
        singular ? of_singular_values(v, axes, *o.ord > 0) : norm_of(v, axes, o.ord, x.loc);
    Value n = ops::convert(found, real_dtype(result.dtype), result.weak);
    return o.keepdims ? detail::keep_dims(n, axes) : n;
  });
}

}  // namespace tessera::inline v0
