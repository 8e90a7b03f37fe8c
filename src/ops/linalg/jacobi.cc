#include "ops/linalg/jacobi.h"

#include "ops/linalg/matrices.h"

#include <limits>

namespace tessera::inline v0::ops {

double rounding_unit(DType dtype) {
  return real_dtype(dtype) == DType::float64 ? std::numeric_limits<double>::epsilon()
                                             : std::numeric_limits<float>::epsilon();
}

// J turns by the smaller angle: t = s / c solves t^2 + 2 z t = 1 with z = (q - p) / (2 |r|).
PairRotations rotations_of(Value p, Value q, Value r) {
  const Value size = abs(r), none = eq(size, zeros_like(size)), one = full_like(size, 1);
  const Value by = select(none, one, size);
  const Value z = div(sub(q, p), add(by, by));
  const Value root = add(abs(z), sqrt(add(one, mul(z, z))));
  const Value t = select(lt(z, zeros_like(z)), neg(div(one, root)), div(one, root));
  const Value turn = select(none, zeros_like(t), t);
  const Value c = div(one, sqrt(add(one, mul(turn, turn)))), s = mul(turn, c);
  return {c, mul(in_dtype(s, r.dtype()), div(r, in_dtype(by, r.dtype())))};
}

namespace {

struct Halves {
  Value first, second;
};
Halves column_halves(Value x) {
  const std::int64_t m = rows_of(x.shape()), n = columns_of(x.shape());
  return {submatrix(x, 0, m, 0, n / 2), submatrix(x, 0, m, n / 2, n)};
}
Halves row_halves(Value x) {
  const std::int64_t m = rows_of(x.shape()), n = columns_of(x.shape());
  return {submatrix(x, 0, m / 2, 0, n), submatrix(x, m / 2, m, 0, n)};
}

Value conjugated(Value x) { return is_complex(x.dtype()) ? conj(x) : x; }

// c first - s second, and conj(s) first + c second: the rows of J^H X.
Values halves_rotated(const Halves& x, Value c, Value s) {
  return {sub(mul(c, x.first), mul(s, x.second)),
          add(mul(conjugated(s), x.first), mul(c, x.second))};
}

// Row or column 0, h, 1, ..., h - 2, h + 1, ..., 2 h - 1, h - 1 of h pairs.
Value moved_on(Value x, bool rows) {
  const Shape& s = x.shape();
  const std::int64_t m = rows_of(s), n = columns_of(s), h = (rows ? m : n) / 2;
  if (h < 2) return x;
  Values parts;
  const auto take = [&](std::int64_t from, std::int64_t to) {
    if (from < to)
      parts.push_back(rows ? submatrix(x, from, to, 0, n) : submatrix(x, 0, m, from, to));
  };
  take(0, 1);
  take(h, h + 1);
  take(1, h - 1);
  take(h + 1, 2 * h);
  take(h - 1, h);
  return concatenate(parts, s.rank() - (rows ? 2 : 1));
}

}  // namespace

Value rows_rotated(Value x, const PairRotations& j) {
  const Halves halves = row_halves(x);
  const Shape& s = halves.first.shape();
  const Value c = along_rows(in_dtype(j.c, x.dtype()), s), turn = along_rows(j.s, s);
  return concatenate(halves_rotated(halves, c, turn), x.rank() - 2);
}

Value columns_rotated(Value x, const PairRotations& j) {
  const Halves halves = column_halves(x);
  const Shape& s = halves.first.shape();
  const Value c = along_columns(in_dtype(j.c, x.dtype()), s),
              turn = along_columns(conjugated(j.s), s);
  return concatenate(halves_rotated(halves, c, turn), x.rank() - 1);
}

Value columns_moved(Value x) { return moved_on(x, false); }
Value rows_moved(Value x) { return moved_on(x, true); }

Values swept(Values state, Value like_worst, std::int64_t steps, double enough, const Step& step,
             const std::function<Value(const Values&, Value)>& last) {
  Builder& b = *state[0].builder;
  const std::size_t n = state.size();
  const Type measure = Type(like_worst.dtype(), like_worst.shape());
  const auto inputs = [&](Builder& to) {
    Values in;
    for (const Value& v : state) in.push_back(to.input(Type(v.dtype(), v.shape())));
    return in;
  };

  Builder one;  // a step
  Values own = inputs(one);
  Value worst = one.input(measure);
  step(own, worst);
  own.push_back(worst);
  const ProgramPtr step_body = one.finish(own);

  Builder sweep;
  Values carry = inputs(sweep);
  sweep.input(measure);  // of the sweep before
  const Value count = sweep.input(Type(DType::int32, Shape()));
  carry.push_back(full(sweep, measure.dtype, measure.shape, 0));
  Values made = scan(step_body, {}, carry, {}, steps, false, sweep);
  const Value seen = made[n];
  made.pop_back();
  made.push_back(last(made, seen));
  made.push_back(add(count, full_like(count, 1)));
  const ProgramPtr sweep_body = sweep.finish(made);

  Builder test;
  inputs(test);
  const Value left = test.input(measure), sweeps = test.input(Type(DType::int32, Shape()));
  Ints all;
  for (int d = 0; d < left.rank(); ++d) all.push_back(d);
  const Value above = gt(left, full_like(left, enough));
  const Value some = all.empty() ? above : reduce_or(above, all);
  const ProgramPtr go_on = test.finish(Values{and_(some, lt(sweeps, full_like(sweeps, kSweeps)))});

  Values init = state;
  init.push_back(full(b, measure.dtype, measure.shape, std::numeric_limits<float>::max()));
  init.push_back(full(b, DType::int32, Shape(), 0));
  Values out = while_(go_on, sweep_body, {}, {}, init);
  out.resize(n);
  return out;
}

}  // namespace tessera::inline v0::ops
