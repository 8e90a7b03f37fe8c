// Selections, conversions and comparisons of integers.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

bool known_number_fits(const Grid& g, const Kind& common) {
  return !g.number || common.weak || !ts::is_integer(common.dtype) || fits(g.at[0], common.dtype);
}
// An operand beside an array of `d`: an array of any dtype and a shape that broadcasts, or a
// number.
Grid beside(Dice& dice, DType d, const Shape& shape) {
  if (dice.below(3) == 0) return draw_number(dice, d == ts::bool_ ? ts::i64 : d);
  return draw_array(dice, dice.toss() ? d : draw_dtype(dice), dice.toss() ? shape : Shape{});
}

Case where_case(Dice& dice) {
  const Grid x = draw_array(dice), y = beside(dice, x.dtype, x.shape);
  const Grid condition = draw_array(dice, draw_dtype(dice), dice.toss() ? x.shape : Shape{});
  const bool swap = dice.toss();
  Case c;
  c.call = "where(x, y, z)";
  c.operands = {condition, swap ? y : x, swap ? x : y};
  c.f = [](const Arrays& in) { return Arrays{ts::where(in[0], in[1], in[2])}; };
  const Kind kind = promoted(kind_of(x), kind_of(y));
  if (!known_number_fits(y, kind)) {
    c.refused = Refusal::dtype;
    return c;
  }
  const Shape shape = broadcast(condition.shape, broadcast(x.shape, y.shape));
  Grid r = filled(kind.dtype, shape, [&](const Ints& at) {
    const Wide v = element(c.operands[element(condition, at) != 0 ? 1 : 2], at);
    return kind.dtype == ts::f64 ? static_cast<Wide>(static_cast<double>(v)) : v;
  });
  r.weak = kind.weak;
  c.expected = {exactly(r)};
  return c;
}

Case clip_case(Dice& dice, bool method) {
  const Grid x = draw_array(dice, false);
  const Grid lo = beside(dice, x.dtype, x.shape), hi = beside(dice, x.dtype, x.shape);
  Case c;
  c.call = method ? "x.clip(y, z)" : "clip(x, y, z)";
  c.operands = {x, lo, hi};
  c.f = [method](const Arrays& in) {
    return Arrays{method ? in[0].clip(in[1], in[2]) : ts::clip(in[0], in[1], in[2])};
  };
  const Kind low = promoted(kind_of(x), kind_of(lo)), kind = promoted(low, kind_of(hi));
  if (ts::is_floating(kind.dtype) || ts::is_floating(low.dtype)) {
    c.operands = {x, x, x};  // int64 and uint64 have floats in common; binary functions draw those
    c.expected = {exactly(x)};
    return c;
  }
  // A number must fit the operands that it meets: the lower bound x, the upper bound all three.
  if (!known_number_fits(lo, kind) || !known_number_fits(hi, kind)) {
    c.refused = Refusal::dtype;
    return c;
  }
  if (!known_number_fits(lo, low)) {
    c.refused = Refusal::dtype;
    return c;
  }
  c.expected = {exactly(
      filled(kind.dtype, broadcast(x.shape, broadcast(lo.shape, hi.shape)), [&](const Ints& at) {
        return std::min(std::max(element(x, at), element(lo, at)), element(hi, at));
      }))};
  return c;
}

// Between integers the low bits are kept; in a float each value is rounded once.
Case astype_case(Dice& dice, bool method) {
  Case c;
  const bool is_number = dice.once_in(6);
  const Grid x = is_number ? draw_number(dice, ts::i64) : draw_array(dice);
  const DType to = dice.once_in(4)
                       ? dice.of(std::vector<DType>{ts::f32, ts::f64, ts::f16, ts::bf16})
                       : draw_dtype(dice);
  c.call = "astype(x, " + std::string(ts::short_name_of(to)) + ")";
  c.operands = {x};
  c.f = [method, to](const Arrays& in) {
    return Arrays{method ? in[0].astype(to) : ts::astype(in[0], to)};
  };
  if (ts::is_floating(to)) {
    if (to == ts::f16 || to == ts::bf16) {  // through float32
      c.expected = {bits_of_array(
          ts::dispatch_real(to, [&](auto tag) { return array_as<decltype(tag)>(x); }))};
    } else {
      c.expected = {bits_of_array(array_of(x, to))};
    }
    return c;
  }
  Grid r = x;
  r.dtype = to;
  r.number = r.weak = false;
  for (Wide& v : r.at) v = wrapped(v, to);
  c.expected = {exactly(r)};
  return c;
}
// From floats to integers, the fraction is cut off, numbers outside become the nearest limit, and
// NaN becomes 0.
Case from_floats_case(Dice& dice) {
  static const auto& values = *[] {
    auto* v = new std::vector<double>{0,    0.5,  -0.5,  1,        -1,        1.5,
                                      -1.5, 1e30, -1e30, INFINITY, -INFINITY, NAN};
    for (int k : {7, 8, 15, 16, 31, 32, 63, 64})
      for (double sign : {1.0, -1.0})
        for (double by : {-1.0, -0.5, 0.0, 0.5, 1.0})
          v->push_back(sign * (std::ldexp(1.0, k) + by));
    for (int k : {31, 32, 63, 64})
      v->push_back(std::nextafter(std::ldexp(1.0, k), 0.0)),
          v->push_back(std::nextafterf(std::ldexp(1.0f, k), 0.0f));
    return v;
  }();
  std::vector<double> x;
  for (std::int64_t n = 1 + dice.below(20); n > 0; --n) x.push_back(dice.of(values));
  const bool single = dice.toss();
  const DType to = draw_dtype(dice);
  Case c;
  c.call = "astype(floats, " + std::string(ts::short_name_of(to)) + ") of";
  std::vector<Wide> want;
  std::vector<float> rounded;
  for (double& v : x) {
    if (single) v = static_cast<float>(v);
    rounded.push_back(static_cast<float>(v));
    c.call += " " + std::to_string(v);
    const double whole = std::trunc(v);
    want.push_back(to == ts::bool_                           ? Wide(v != 0)
                   : std::isnan(v)                           ? 0
                   : whole <= static_cast<double>(least(to)) ? least(to)
                   : whole >= std::ldexp(1.0, bits_of(to) - (ts::is_signed_integer(to) ? 1 : 0))
                       ? most(to)
                       : static_cast<Wide>(whole));
  }
  const Array from = single ? Array(rounded) : Array(x);
  c.f = [from, to](const Arrays&) { return Arrays{from.astype(to)}; };
  c.expected = {exactly(to, Shape{x.size()}, want)};
  return c;
}

// Arrays of one shape, equal in some elements; or a number with a scalar.
std::pair<Grid, Grid> near_pair(Dice& dice) {
  const Grid x = draw_array(dice);
  Grid y = draw_array(dice, dice.toss() ? x.dtype : draw_dtype(dice), x.shape);
  for (std::size_t i = 0; i < x.at.size(); ++i) {
    const std::int64_t how = dice.below(4);
    if (how == 3) continue;
    const Wide v = x.at[i] + (how == 2 ? 1 : how == 1 && i > 2 ? -1 : 0);
    if (fits(v, y.dtype)) y.at[i] = v;
  }
  return {x, y};
}
Case equal_case(Dice& dice) {
  auto [x, y] = near_pair(dice);
  if (x.shape.empty() && dice.toss())
    y = draw_number(dice, x.dtype == ts::bool_ ? ts::i64 : x.dtype);
  Case c;
  c.call = "array_equal(x, y)";
  c.operands = {x, y};
  c.f = [](const Arrays& in) { return Arrays{ts::array_equal(in[0], in[1])}; };
  c.expected = {exactly(ts::bool_, {}, {Wide(x.at == y.at)})};
  return c;
}
// |x - y| <= atol + rtol |y|, where the numbers are integers. With two exact tolerances the answer
// is that of 128 bits wherever floats of the operands' size hold them.
Case close_case(Dice& dice, bool all) {
  auto [x, y] = near_pair(dice);
  const double atol = dice.of(std::vector<double>{0, 0.5, 1, 3});
  Case c;
  c.call = std::string(all ? "allclose" : "isclose") + "(x, y, 0, " + std::to_string(atol) + ")";
  c.operands = {x, y};
  c.f = [atol, all](const Arrays& in) {
    return Arrays{all ? ts::allclose(in[0], in[1], 0, atol) : ts::isclose(in[0], in[1], 0, atol)};
  };
  Grid r = filled(ts::bool_, x.shape, [&, x = x, y = y](const Ints& at) {
    const Wide d = element(x, at) - element(y, at);
    return Wide((d < 0 ? -d : d) <= static_cast<Wide>(std::floor(atol)));
  });
  const bool every = std::all_of(r.at.begin(), r.at.end(), [](Wide v) { return v != 0; });
  c.expected = {all ? exactly(ts::bool_, {}, {Wide(every)}) : exactly(r)};
  return c;
}

}  // namespace

std::vector<Row> choice_rows() {
  return {
      {"where", where_case},
      {"clip", [](Dice& d) { return clip_case(d, false); }},
      {"Array::clip", [](Dice& d) { return clip_case(d, true); }},
      {"astype", [](Dice& d) { return astype_case(d, false); }},
      {"Array::astype", [](Dice& d) { return astype_case(d, true); }},
      {"astype", from_floats_case},
      {"array_equal", equal_case},
      {"isclose", [](Dice& d) { return close_case(d, false); }},
      {"allclose", [](Dice& d) { return close_case(d, true); }},
  };
}

}  // namespace integers
