#include "ops/linalg/tridiagonal.h"

#include "ops/linalg/matrices.h"

#include <limits>
#include <numbers>
#include <numeric>

namespace tessera::inline v0::ops {

namespace {

// Moves dimension `from` to position `to`.
Value moved_dim(Value x, int from, int to) {
  Ints order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + to, from);
  return transpose(x, order);
}

// x without its first element along dimension 0, and with a zero appended.
Value next_of(Value x) {
  Ints low(static_cast<std::size_t>(x.rank()), 0), high = low;
  low[0] = -1, high[0] = 1;
  return pad(x, scalar(*x.builder, x.dtype(), 0), low, high, Ints(low.size(), 0));
}

Value without_last_element(Value x) {
  const Value zero = scalar(*x.builder, x.dtype(), 0);
  const Ints none(static_cast<std::size_t>(x.rank()), 0);
  Ints cut = none, grown = none;
  cut[0] = -1, grown[0] = 1;
  return pad(pad(x, zero, none, cut, none), zero, none, grown, none);
}

Value along_last(Value v, const Shape& shape) {
  Ints dims(static_cast<std::size_t>(v.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  return broadcast_in_dim(v, shape, dims);
}

double least_normal(Value like) {
  return size_of(like.dtype()) > 4 ? std::numeric_limits<double>::min()
                                   : static_cast<double>(std::numeric_limits<float>::min());
}
Value log2_of(Value x) { return div(log(x), full_like(x, std::numbers::ln2)); }
// 1, or -1 if the number is negative or -0.
Value signed_one(Value x) {
  const Value re = is_complex(x.dtype()) ? real(x) : x, one = full_like(re, 1);
  return select(lt(div(one, re), zeros_like(re)), neg(one), one);
}

// The magnitude that LAPACK uses to compare pivots.
Value size_of_pivot(Value x) {
  return is_complex(x.dtype()) ? add(abs(real(x)), abs(imag(x))) : abs(x);
}

// For each matrix, the smallest amount by which a tiny pivot is moved: the rounding error of the
// triangle's largest element, or the smallest normal number if that is larger. Rows are along
// dimension 0.
Value least_change(Value first, Value second, Value third) {
  const auto most = [](Value x) { return reduce_max(abs(x), {0}); };
  const Value largest = max(most(first), max(most(second), most(third)));
  const bool wide = size_of(largest.dtype()) > 4;
  const double eps =
      wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return max(mul(largest, full_like(largest, eps)), full_like(largest, least_normal(largest)));
}

// The pivot, moved away from 0 by `change` * (1 + 2 + 4 + ...) until `rest` divided by it does not
// overflow.
Value grown(Value pivot, Value change, Value rest) {
  const Value size = abs(pivot), zero = zeros_like(size), one = full_like(size, 1);
  const Value needed = mul(abs(rest), full_like(size, least_normal(size)));
  const Value small = or_(lt(size, needed), lt(size, full_like(size, least_normal(size))));
  // The smallest m for which 2^m - 1 changes suffice. A quotient at `needed` is a factor of four
  // below overflow, so the rounding of the logarithm does no harm.
  constexpr double kRounded = 0.999;
  const Value changes = max(add(div(sub(needed, size), change), one), full_like(size, 2));
  const Value m = ceil(log2_of(mul(changes, full_like(changes, kRounded))));
  const Value by = mul(sub(exp2(m), one), change);
  // The pivot keeps its direction from 0; if it is 0 it moves along the real axis.
  const Value none = eq(size, zero);
  const Value direction = select(none, in_dtype(signed_one(pivot), pivot.dtype()),
                                 div(pivot, in_dtype(select(none, one, size), pivot.dtype())));
  const Value moved = add(pivot, stop_gradient(mul(in_dtype(by, pivot.dtype()), direction)));
  return select(small, moved, pivot);
}

}  // namespace

// Row i of the remaining system is (d, u, 0 | c), and the next row of A is (l, d', u' | c'). The
// row with the larger first element becomes row i of a triangle with two diagonals above the main
// one, and a multiple of it is subtracted from the other row.
Value tridiagonal_solve(Value lower, Value diagonal, Value upper, Value b, TinyPivots tiny) {
  Builder& builder = *b.builder;
  const Shape& columns = b.shape();
  const int rank = columns.rank();
  const std::int64_t n = columns[static_cast<std::size_t>(rank - 2)];
  if (columns.count() == 0) return b;
  const Value l = moved_dim(lower, rank - 2, 0), d = moved_dim(diagonal, rank - 2, 0),
              u = without_last_element(moved_dim(upper, rank - 2, 0)),
              c = moved_dim(b, rank - 2, 0);
  const Shape one(d.shape().begin() + 1, d.shape().end()),
      wide(c.shape().begin() + 1, c.shape().end());
  const DType dtype = b.dtype();
  const auto first = [](Value x) {
    Ints start(static_cast<std::size_t>(x.rank()), 0), limit(x.shape().begin(), x.shape().end());
    limit[0] = 1;
    return reshape(slice(x, start, limit, Ints(start.size(), 1)),
                   Shape(x.shape().begin() + 1, x.shape().end()));
  };
  const auto small = [&](Builder& s) { return s.input(Type(dtype, one)); };

  Builder down;
  const Value d0 = small(down), u0 = small(down), c0 = down.input(Type(dtype, wide)),
              l1 = small(down), d1 = small(down), u1 = small(down),
              c1 = down.input(Type(dtype, wide));
  const Value zero = zeros_like(d0), exchange = lt(size_of_pivot(d0), size_of_pivot(l1));
  const auto either = [&](Value yes, Value no) { return select(exchange, yes, no); };
  const Value exchange_wide = along_last(exchange, wide);
  const Value pivot = either(l1, d0), second = either(d1, u0), third = either(u1, zero),
              kept = select(exchange_wide, c1, c0);
  // If the larger element is zero, both are.
  const Value divisor = select(eq(pivot, zero), full_like(pivot, 1), pivot);
  const Value times = div(either(d0, l1), divisor);
  const ProgramPtr eliminate = down.finish(
      Values{sub(either(u0, d1), mul(times, second)), sub(either(zero, u1), mul(times, third)),
             sub(select(exchange_wide, c0, c1), mul(along_last(times, wide), kept)), pivot, second,
             third, kept});
  const Values rows{next_of(l), next_of(d), next_of(u), next_of(c)};
  const Values triangle =
      scan(eliminate, {}, Values{first(d), first(u), first(c)}, rows, n, false, builder);

  const bool grows = tiny == TinyPivots::grow;
  Values consts;
  if (grows) consts.push_back(least_change(triangle[3], triangle[4], triangle[5]));
  Builder up;
  const Value change = grows ? up.input(consts[0].type()) : Value();
  const Value x1 = up.input(Type(dtype, wide)), x2 = up.input(Type(dtype, wide)), p = small(up),
              q = small(up), r = small(up), right = up.input(Type(dtype, wide));
  const Value rest = sub(right, add(mul(along_last(q, wide), x1), mul(along_last(r, wide), x2)));
  const Value divided_by = along_last(p, wide);
  const Value x = div(rest, grows ? grown(divided_by, along_last(change, wide), rest) : divided_by);
  const ProgramPtr substitute = up.finish(Values{x, x1, x});
  const Value none = full(builder, dtype, wide, 0);
  const Values from{triangle[3], triangle[4], triangle[5], triangle[6]};
  const Values solved = scan(substitute, consts, Values{none, none}, from, n, true, builder);
  return moved_dim(solved[2], 0, rank - 2);
}

}  // namespace tessera::inline v0::ops
