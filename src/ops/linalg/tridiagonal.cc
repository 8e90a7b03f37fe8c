#include "ops/linalg/tridiagonal.h"

#include "ops/linalg/matrices.h"

#include <numeric>

namespace tessera::inline v0::ops {

namespace {

// Dimension `from` moved to `to`.
Value moved(Value x, int from, int to) {
  Ints order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + to, from);
  return transpose(x, order);
}

// x without its first element along dimension 0, and a zero behind the others.
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

// By what LAPACK compares.
Value size_of_pivot(Value x) {
  return is_complex(x.dtype()) ? add(abs(real(x)), abs(imag(x))) : abs(x);
}

}  // namespace

// Row i of what is left is (d, u, 0 | c), the next row of A (l, d', u' | c'). The row that has the
// larger first element stays, as row i of a triangle with two diagonals above, and is subtracted from
// the other.
Value tridiagonal_solve(Value lower, Value diagonal, Value upper, Value b) {
  Builder& builder = *b.builder;
  const Shape& columns = b.shape();
  const int rank = columns.rank();
  const std::int64_t n = columns[static_cast<std::size_t>(rank - 2)];
  if (columns.count() == 0) return b;
  const Value l = moved(lower, rank - 2, 0), d = moved(diagonal, rank - 2, 0),
              u = without_last_element(moved(upper, rank - 2, 0)), c = moved(b, rank - 2, 0);
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
  // Where the larger one is zero, so is the other.
  const Value divisor = select(eq(pivot, zero), full_like(pivot, 1), pivot);
  const Value times = div(either(d0, l1), divisor);
  const ProgramPtr eliminate = down.finish(
      Values{sub(either(u0, d1), mul(times, second)), sub(either(zero, u1), mul(times, third)),
             sub(select(exchange_wide, c0, c1), mul(along_last(times, wide), kept)), pivot, second,
             third, kept});
  const Values rows{next_of(l), next_of(d), next_of(u), next_of(c)};
  const Values triangle =
      scan(eliminate, {}, Values{first(d), first(u), first(c)}, rows, n, false, builder);

  Builder up;
  const Value x1 = up.input(Type(dtype, wide)), x2 = up.input(Type(dtype, wide)), p = small(up),
              q = small(up), r = small(up), right = up.input(Type(dtype, wide));
  const Value rest = sub(right, add(mul(along_last(q, wide), x1), mul(along_last(r, wide), x2)));
  const Value x = div(rest, along_last(p, wide));
  const ProgramPtr substitute = up.finish(Values{x, x1, x});
  const Value none = full(builder, dtype, wide, 0);
  const Values from{triangle[3], triangle[4], triangle[5], triangle[6]};
  const Values solved = scan(substitute, {}, Values{none, none}, from, n, true, builder);
  return moved(solved[2], 0, rank - 2);
}

}  // namespace tessera::inline v0::ops
