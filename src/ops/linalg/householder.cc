#include "ops/linalg/householder.h"

#include "ops/linalg/loop_parts.h"
#include "ops/linalg/matrices.h"
#include "ops/movement/movement.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::ops {

namespace {

Value shifted_index(Value i, std::int64_t by) {
  return add(i, full(*i.builder, i.dtype(), i.shape(), static_cast<double>(by)));
}

Ints in_order_dims(const Shape& shape) {
  Ints dims(shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

// (1 - tau v v^H) x
Value reflected(Value x, Value v, Value tau) {
  const Shape& s = x.shape();
  const Value rows = along_rows(v, s);
  const Value seen = reduce_sum(mul(is_complex(v.dtype()) ? conj(rows) : rows, x), {s.rank() - 2});
  return sub(x, mul(over_matrix(tau, s), mul(rows, along_columns(seen, s))));
}

Value squares(Value x) { return is_complex(x.dtype()) ? real(mul(x, conj(x))) : mul(x, x); }

// The reflection H that zeroes the vector x after position `from`: v, with a leading one at `from`
// and zeros before it; tau; and beta, the element of H^H x at `from`.
struct Reflection {
  Value v, tau, beta;
};
Reflection reflection_of(Value x, Value from) {
  const int last = x.rank() - 1;
  const Value at = iota(*x.builder, DType::int64, x.shape(), last), begin = spread(from, x.shape()),
              zero = zeros_like(x), leads = eq(at, begin);
  const auto wide = [&](Value v) { return along_rows(v, x.shape()); };
  const auto sum = [&](Value v) { return reduce_sum(v, {last}); };
  // Scaled, so that squares neither overflow nor underflow.
  const Value rest = select(ge(at, begin), x, zero), most = reduce_max(abs(rest), {last});
  const Value some = gt(most, zeros_like(most)), one = full_like(most, 1);
  const Value scale = in_dtype(select(some, most, one), x.dtype()), unit = div(rest, wide(scale));
  const Value tail = select(leads, zero, unit), alpha = sum(select(leads, unit, zero));
  const Value below = sum(squares(tail)), head = real_part(alpha);
  // H is the identity if the tail is zero and the leading element real.
  Value idle = eq(below, zeros_like(below));
  if (is_complex(x.dtype())) {
    const Value turn = imag(alpha);
    idle = and_(idle, eq(turn, zeros_like(turn)));
  }
  const Value length = sqrt(select(idle, one, add(squares(alpha), below)));
  const Value beta = in_dtype(select(lt(head, zeros_like(head)), length, neg(length)), x.dtype());
  const Value by = select(idle, full_like(alpha, 1), sub(alpha, beta));
  return {select(leads, full_like(x, 1), div(tail, wide(by))),
          select(idle, zeros_like(alpha), div(sub(beta, alpha), beta)),
          mul(select(idle, alpha, beta), scale)};
}

Value conjugate(Value x) { return is_complex(x.dtype()) ? conj(x) : x; }

}  // namespace

Value times_reflections(Value packed, Value taus, Value x, bool adjoint) {
  Builder& b = *packed.builder;
  const Shape& s = packed.shape();
  const std::int64_t k = taus.shape().back();
  if (k == 0 || s.count() == 0 || x.shape().count() == 0) return x;
  const Shape vector(s.begin(), s.end() - 1), batch(s.begin(), s.end() - 2);
  Builder step;
  const Value product = step.input(Type(x.dtype(), x.shape())),
              column = step.input(Type(packed.dtype(), vector)),
              tau = step.input(Type(packed.dtype(), batch)),
              number = step.input(Type(DType::int64, Shape()));
  const Value at = iota(step, DType::int64, vector, vector.rank() - 1),
              begin = spread(number, vector);
  const Value v = select(gt(at, begin), column,
                         select(eq(at, begin), full_like(column, 1), zeros_like(column)));
  const ProgramPtr body =
      step.finish(Values{reflected(product, v, adjoint ? conjugate(tau) : tau)});
  const Value columns = last_first(submatrix(packed, 0, rows_of(s), 0, k));
  const Values rows{columns, last_first(taus), iota(b, DType::int64, Shape{k}, 0)};
  return scan(body, {}, Values{x}, rows, k, !adjoint, b)[0];
}

Value householder_product(Value packed, Value taus) {
  const Value identity = convert(eq(row_numbers(packed), column_numbers(packed)), packed.dtype());
  return times_reflections(packed, taus, identity, false);
}

namespace {

// Exchanges columns `here` and `there` of each matrix; `column` holds the column numbers.
Value exchanged(Value x, Value column, Value here, Value there) {
  const Shape& s = x.shape();
  const auto of = [&](Value k) {
    return reduce_sum(select(eq(column, over_matrix(k, s)), x, zeros_like(x)), {s.rank() - 1});
  };
  return select(eq(column, over_matrix(here, s)), along_rows(of(there), s),
                select(eq(column, over_matrix(there, s)), along_rows(of(here), s), x));
}

// A vector as a matrix with one row.
Value as_row(Value line) {
  Shape s = line.shape();
  s.insert(s.end() - 1, 1);
  return reshape(line, s);
}
// Exchanges positions `here` and `there` of each line.
Value exchanged_in_line(Value line, Value here, Value there) {
  const Value row = as_row(line);
  return reshape(exchanged(row, column_numbers(row), here, there), line.shape());
}

// The order of columns in which the marked ones come first: each marked column is exchanged with
// the first column after the marked ones so far.
struct MarkedFirst {
  Value order;  // int32
  Value count;  // number of marked columns, int64
};
MarkedFirst marked_first(Value marked, Value in_order) {
  Builder& b = *marked.builder;
  const std::int64_t n = marked.shape().back();
  const Shape batch(marked.shape().begin(), marked.shape().end() - 1);
  Builder step;
  const Value order = step.input(in_order.type()), count = step.input(Type(DType::int64, batch)),
              mark = step.input(Type(DType::boolean, batch)),
              number = step.input(Type(DType::int64, Shape()));
  const Value here = spread(number, batch), there = select(mark, count, here);
  const ProgramPtr body = step.finish(
      Values{exchanged_in_line(order, here, there), add(count, convert(mark, DType::int64))});
  const Values out =
      scan(body, {}, Values{in_order, full(b, DType::int64, batch, 0)},
           Values{last_first(marked), iota(b, DType::int64, Shape{n}, 0)}, n, false, b);
  return {out[0], out[1]};
}

// For each matrix, the first of the columns from `number` on that are longest from row `number` on.
Value longest(Value x, Value number) {
  const Shape& s = x.shape();
  const Value row = row_numbers(x), column = column_numbers(x), here = spread(number, s);
  const Value left = and_(ge(row, here), ge(column, here)), size = abs(x), zero = zeros_like(size);
  const Value most = reduce_max(size, {s.rank() - 2, s.rank() - 1});
  const Value scale = select(gt(most, zeros_like(most)), most, full_like(most, 1));
  const Value unit = div(select(left, size, zero), over_matrix(scale, s));
  const Value length = reduce_sum(mul(unit, unit), {s.rank() - 2});
  // Finished columns get length -1, less than even a zero column.
  const Value at = iota(*x.builder, DType::int64, length.shape(), length.rank() - 1);
  const Value open = select(ge(at, spread(number, length.shape())), length, full_like(length, -1));
  return convert(argmax(open, length.rank() - 1, DType::int32), DType::int64);
}

}  // namespace

PackedQr packed_qr(Value a, bool pivoted, MaybeValue first) {
  Builder& b = *a.builder;
  const Shape& s = a.shape();
  const std::int64_t m = rows_of(s), n = columns_of(s), k = std::min(m, n);
  Shape few(s.begin(), s.end() - 2), line = few;
  few.push_back(k);
  line.push_back(n);
  const Value in_order = iota(b, DType::int32, line, line.rank() - 1);
  if (k == 0 || s.count() == 0) return {a, full(b, a.dtype(), few, 0), in_order};
  Value begin_order = in_order;
  Values consts;
  if (first) {
    const MarkedFirst moved = marked_first(*first, in_order);
    begin_order = moved.order;
    consts = {moved.count};
    a = take_along(a, broadcast_in_dim(as_row(begin_order), s, in_order_dims(s)), s.rank() - 1);
  }
  Builder step;
  Values fixed;
  for (const Value& v : consts) fixed.push_back(step.input(Type(v.dtype(), v.shape())));
  Value x = step.input(Type(a.dtype(), s)), order = step.input(in_order.type());
  const Value number = step.input(Type(DType::int64, Shape()));
  const Value row = row_numbers(x), column = column_numbers(x), here = spread(number, s);
  if (pivoted) {
    Value there = longest(x, number);
    const Value now = spread(number, there.shape());
    if (first) there = select(lt(now, fixed[0]), now, there);
    x = exchanged(x, column, now, there);
    order = exchanged_in_line(order, now, there);
  }
  const Value mine = eq(column, here), zero = zeros_like(x);
  const Reflection h = reflection_of(reduce_sum(select(mine, x, zero), {s.rank() - 1}), number);
  const Value left = reflected(x, h.v, conjugate(h.tau));
  const Value cleared = select(and_(mine, gt(row, here)), zero, left);
  const Value turned = select(and_(mine, eq(row, here)), over_matrix(h.beta, s), cleared);
  const ProgramPtr body = step.finish(Values{turned, order, h.v, h.tau});
  const Values out = scan(body, consts, Values{a, begin_order},
                          Values{iota(b, DType::int64, Shape{k}, 0)}, k, false, b);
  const Value vectors = padded_to(first_last(out[2]), m, n);
  return {select(gt(row_numbers(a), column_numbers(a)), vectors, out[0]), first_last(out[3]),
          out[1]};
}

PackedHessenberg packed_hessenberg(Value a) {
  Builder& b = *a.builder;
  const Shape& s = a.shape();
  const std::int64_t n = columns_of(s), k = std::max<std::int64_t>(n - 1, 0);
  Shape few(s.begin(), s.end() - 2);
  few.push_back(k);
  if (k == 0 || s.count() == 0) return {a, full(b, a.dtype(), few, 0)};
  Builder step;
  const Value x = step.input(Type(a.dtype(), s)), number = step.input(Type(DType::int64, Shape()));
  const Value row = row_numbers(x), column = column_numbers(x), here = spread(number, s),
              next = add(number, full(step, DType::int64, Shape(), 1)), below = spread(next, s);
  const Value mine = eq(column, here), zero = zeros_like(x);
  const Reflection h = reflection_of(reduce_sum(select(mine, x, zero), {s.rank() - 1}), next);
  // H^H x H: the first step reflects rows, the second columns.
  const Value left = reflected(x, h.v, conjugate(h.tau));
  const Value both = adjoint(reflected(adjoint(left), h.v, conjugate(h.tau)));
  const Value cleared = select(and_(mine, gt(row, below)), zero, both);
  const Value turned = select(and_(mine, eq(row, below)), over_matrix(h.beta, s), cleared);
  const ProgramPtr body = step.finish(Values{turned, h.v, h.tau});
  const Values numbers{iota(b, DType::int64, Shape{k}, 0)};
  const Values out = scan(body, {}, Values{a}, numbers, k, false, b);
  const Value vectors = padded_to(first_last(out[1]), n, n), top = row_numbers(a);
  const Value under = gt(top, shifted_index(column_numbers(a), 1));
  return {select(under, vectors, out[0]), first_last(out[2])};
}

Values hessenberg(Value a) {
  const PackedHessenberg h = packed_hessenberg(a);
  const Shape& s = a.shape();
  const std::int64_t n = columns_of(s);
  const Value upper = upper_triangle(h.packed, -1);
  const Value identity = identity_like(*a.builder, a.dtype(), s);
  if (n < 2 || s.count() == 0) return {upper, identity};
  // The first row and column of Q are those of the identity.
  const Value q = householder_product(submatrix(h.packed, 1, n, 0, n - 1), h.taus);
  Ints low(static_cast<std::size_t>(s.rank()), 0), none = low;
  low[low.size() - 2] = low[low.size() - 1] = 1;
  const Value inner = pad(q, scalar(*a.builder, a.dtype(), 0), low, none, none);
  const Value first = eq(add(row_numbers(a), column_numbers(a)), zeros_like(row_numbers(a)));
  return {upper, select(first, identity, inner)};
}

}  // namespace tessera::inline v0::ops
