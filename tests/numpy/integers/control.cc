// Loops and branches: bounds, conditions and indices of every integer dtype.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

Array counted(const Array& lo, const Array& hi) {
  return ts::fori_loop(
      lo, hi, [](Array i, Array c) { return c * 3 + i.astype(ts::i64); },
      Array(ts::array(1, ts::i64)));
}

// A few iterations between bounds anywhere: arrays of two dtypes, or an array and a number.
Case loop_case(Dice& dice) {
  const DType d = draw_dtype(dice, false), e = dice.toss() ? d : draw_dtype(dice, false);
  Grid lo = draw_array(dice, d, {}), hi = lo;
  const Wide to = lo.at[0] + dice.of(std::vector<Wide>{0, 1, 3, 7, -1, -100});
  hi.dtype = e;
  hi.at = {to};
  if (dice.once_in(3)) hi = number(std::clamp<Wide>(to, least(ts::i64), most(ts::u64)));
  Case c;
  c.call = "fori_loop(x, y)";
  if (!hi.number && !fits(to, e)) hi = lo;
  c.operands = {lo, hi};
  c.f = [](const Arrays& in) { return Arrays{counted(in[0], in[1])}; };
  const Kind kind = promoted(kind_of(lo), kind_of(hi));
  if (hi.number && !fits(hi.at[0], kind.dtype)) {
    c.refused = Refusal::dtype;
    return c;
  }
  Wide carry = 1;
  for (Wide i = lo.at[0]; i < hi.at[0]; ++i)
    carry = wrapped(times(carry, 3) + wrapped(i, ts::i64), ts::i64);
  c.expected = {exactly(ts::i64, {}, {carry})};
  return c;
}
// The bounds are C++ integers of any type.
Case static_loop_case(Dice& dice) {
  const Wide lo = draw_value(dice, ts::i64),
             hi = std::clamp<Wide>(lo + dice.below(5), least(ts::i64), most(ts::i64));
  Case c;
  c.call = "fori_loop(" + text(lo) + ", " + text(hi) + ")";
  c.maps = false;
  c.f = [lo, hi](const Arrays&) {
    return Arrays{ts::fori_loop(
        static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi),
        [](Array i, Array s) { return s * 3 + i.astype(ts::i64); }, Array(ts::array(1, ts::i64)))};
  };
  Wide carry = 1;
  for (Wide i = lo; i < hi; ++i) carry = wrapped(times(carry, 3) + i, ts::i64);
  c.expected = {exactly(ts::i64, {}, {carry})};
  return c;
}

Case branch_case(Dice& dice, bool cond) {
  Case c;
  c.operands = {draw_array(dice, draw_dtype(dice, cond), {}), draw_array(dice, ts::i16, {})};
  c.call = cond ? "cond(x, ..., y)" : "switch_(x, {y, y + 1, y + 2})";
  c.f = [cond](const Arrays& in) -> Arrays {
    if (cond)
      return {ts::cond(
          in[0], [](Array v) { return v; }, [](Array v) { return v + 1; }, in[1])};
    return {ts::switch_(in[0],
                        std::tuple([](Array v) { return v; }, [](Array v) { return v + 1; },
                                   [](Array v) { return v + 2; }),
                        in[1])};
  };
  const Wide x = c.operands[0].at[0], by = cond ? Wide(x == 0) : std::clamp<Wide>(x, 0, 2);
  c.expected = {exactly(ts::i16, {}, {wrapped(c.operands[1].at[0] + by, ts::i16)})};
  return c;
}

// Steps of a loop wrap in the carry's dtype.
Case while_case(Dice& dice) {
  Case c;
  c.operands = {draw_array(dice, draw_dtype(dice, false), {})};
  c.call = "while_loop from x, +3 five times";
  c.f = [](const Arrays& in) {
    using Two = std::pair<Array, Array>;
    return Arrays{ts::while_loop([](Two s) { return s.second < 5; },
                                 [](Two s) { return Two(s.first + 3, s.second + 1); },
                                 Two(in[0], ts::array(0)))
                      .first};
  };
  c.expected = {
      exactly(c.operands[0].dtype, {}, {wrapped(c.operands[0].at[0] + 15, c.operands[0].dtype)})};
  return c;
}

std::vector<Wide> running(const Grid& x) {
  std::vector<Wide> all;
  Wide s = 0;
  for (Wide v : x.at) all.push_back(s = wrapped(s + v, x.dtype));
  return all;
}
Case scan_case(Dice& dice, bool associative) {
  const Grid x = draw_array(dice, draw_dtype(dice, false), {dice.of(Ints{3, 1, 0, 9})});
  Case c;
  c.operands = {x};
  c.call = associative ? "associative_scan(add, x)" : "scan(add, x)";
  c.f = [associative, d = x.dtype](const Arrays& in) {
    if (associative)
      return Arrays{ts::associative_scan([](Array a, Array b) { return a + b; }, in[0])};
    return Arrays{
        ts::scan([](Array s, Array v) { return std::pair(s + v, s + v); }, ts::zeros({}, d), in[0])
            .second};
  };
  c.expected = {exactly(x.dtype, x.shape, running(x))};
  return c;
}
Case map_case(Dice& dice) {
  const Grid x = draw_array(dice, draw_dtype(dice, false), {5});
  const std::int64_t batch = dice.below(4);
  Case c;
  c.operands = {x};
  c.call = "map(square, x, {.batch_size = " + std::to_string(batch) + "})";
  c.f = [batch](const Arrays& in) {
    return Arrays{ts::map([](Array v) { return v * v; }, in[0], {.batch_size = batch})};
  };
  Grid r = x;
  for (Wide& v : r.at) v = wrapped(times(v, v), r.dtype);
  c.expected = {exactly(r)};
  return c;
}

}  // namespace

std::vector<Row> control_rows() {
  return {
      {"fori_loop", loop_case},
      {"fori_loop", static_loop_case},
      {"cond", [](Dice& d) { return branch_case(d, true); }},
      {"switch_", [](Dice& d) { return branch_case(d, false); }},
      {"while_loop", while_case},
      {"scan", [](Dice& d) { return scan_case(d, false); }},
      {"associative_scan", [](Dice& d) { return scan_case(d, true); }},
      {"map", map_case},
  };
}

}  // namespace integers
