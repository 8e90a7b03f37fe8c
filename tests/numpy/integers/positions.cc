// Arrays of positions of any integer dtype: each can address the whole axis, from either end.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

// Positions near the ends of an axis of n elements, and at the limits of their dtype.
Grid draw_positions(Dice& dice, const Shape& shape, std::int64_t n) {
  const DType d = draw_dtype(dice, false);
  Grid p = draw_array(dice, d, shape);
  for (Wide& v : p.at)
    if (const Wide near = dice.of(
            std::vector<Wide>{0, 1, -1, n - 1, n, -n, -n - 1, 43 % std::max<std::int64_t>(n, 1)});
        dice.below(3) != 2)
      v = fits(near, d) ? near : v;
  return p;
}
std::int64_t draw_extent(Dice& dice) { return dice.of(Ints{5, 1, 3, 100, 200, 300, 70000}); }

// Values that identify their position, for any dtype.
Grid draw_data(Dice& dice, std::int64_t n) {
  Grid x = zeros(draw_dtype(dice), {n});
  for (std::int64_t i = 0; i < n; ++i)
    x.at[static_cast<std::size_t>(i)] =
        i < 20 ? draw_value(dice, x.dtype) : wrapped(i * 7, x.dtype);
  return x;
}
// The position counted from the start, or -1 if it is outside.
Wide from_start(Wide p, std::int64_t n) {
  const Wide at = p < 0 ? p + n : p;
  return at < 0 || at >= n ? -1 : at;
}
Wide fill_of(DType d) { return ts::is_signed_integer(d) ? least(d) : most(d); }

// Positions outside give the dtype's fill value, or the nearest element.
Case take_case(Dice& dice, const std::string& how) {
  const std::int64_t n = draw_extent(dice);
  const Grid x = draw_data(dice, n),
             p = draw_positions(dice, how == "take" ? draw_shape(dice) : Shape{1 + dice.below(6)},
                                n);
  Case c;
  c.call = how;
  c.operands = {x, p};
  c.f = [how](const Arrays& in) -> Arrays {
    if (how == "take") return {ts::take(in[0], in[1])};
    if (how == "take_along_axis") return {ts::take_along_axis(in[0], in[1], 0)};
    if (how == "Array::operator()") return {ts::stack({in[0], in[0]})(1, in[1])};
    if (how == "Array::get") return {in[0].get({in[1]})};
    if (how == "At::get") return {in[0].at(in[1]).get()};
    return {in[0][in[1]]};
  };
  Grid r = zeros(x.dtype, p.shape);
  for (std::size_t i = 0; i < p.at.size(); ++i) {
    const Wide at = from_start(p.at[i], n), v = p.at[i];
    if (at >= 0)
      r.at[i] = x.at[static_cast<std::size_t>(at)];
    else if (how.rfind("take", 0) == 0)
      r.at[i] = fill_of(x.dtype);
    else
      r.at[i] = v < 0 ? x.at.front() : x.at.back();
  }
  c.expected = {exactly(r)};
  return c;
}

// Updates outside are dropped. If a position occurs twice, set keeps the last value, and the others
// combine all.
Case update_case(Dice& dice, const std::string& what) {
  const std::int64_t n = dice.of(Ints{5, 1, 200, 300});
  Grid x = draw_data(dice, n);
  if (x.dtype == ts::bool_) x.dtype = ts::u8;
  Grid p = draw_positions(dice, {1 + dice.below(6)}, n);
  const std::int64_t kind = dice.below(4);  // values: a number, a scalar, or one per position
  const Grid v = kind == 0 ? draw_number(dice, x.dtype)
                           : draw_array(dice, dice.toss() ? x.dtype : draw_dtype(dice),
                                        kind == 1 ? Shape{} : p.shape);
  const bool one = dice.once_in(4);  // a C++ number for the position
  const auto place = static_cast<std::int64_t>(dice.below(2 * n)) - n;
  Case c;
  c.call = "x.at(y)." + what + "(z)" + (one ? " at " + std::to_string(place) : "");
  c.operands = {x, p, v};
  const bool scalar = one && kind >= 2;
  c.f = [what, one, place, scalar](const Arrays& in) -> Arrays {
    const ts::At at = one ? in[0].at(place) : in[0].at(in[1]);
    const Array value = scalar ? in[2][0] : in[2];
    if (what == "set") return {at.set(value)};
    if (what == "add") return {at.add(value)};
    if (what == "multiply") return {at.multiply(value)};
    return {what == "min" ? at.min(value) : at.max(value)};
  };
  if (v.number && !fits(v.at[0], x.dtype)) {
    c.refused = Refusal::dtype;
    return c;
  }
  if (one) p.shape = {1}, p.at = {Wide(place)};
  Grid r = x;
  for (std::size_t i = 0; i < p.at.size(); ++i) {
    const Wide at = from_start(p.at[i], n);
    if (at < 0) continue;
    const Wide by = wrapped(v.at.size() == 1 ? v.at[0] : v.at[i], x.dtype);
    Wide& e = r.at[static_cast<std::size_t>(at)];
    e = wrapped(what == "set"        ? by
                : what == "add"      ? e + by
                : what == "multiply" ? times(e, by)
                : what == "min"      ? std::min(e, by)
                                     : std::max(e, by),
                x.dtype);
  }
  c.expected = {exactly(r)};
  return c;
}

Case mask_case(Dice& dice) {
  const Grid x = draw_array(dice, false), mask = draw_array(dice, ts::bool_, x.shape),
             v = dice.toss() ? draw_number(dice, x.dtype) : draw_array(dice, draw_dtype(dice), {});
  Case c;
  c.call = "x.at(y).set(z)";
  c.operands = {x, mask, v};
  c.f = [](const Arrays& in) { return Arrays{in[0].at(in[1]).set(in[2])}; };
  if (x.shape.empty()) c.operands = {x, x, v}, c.f = [](const Arrays& in) { return Arrays{in[0]}; };
  if (!x.shape.empty() && v.number && !fits(v.at[0], x.dtype)) {
    c.refused = Refusal::dtype;
    return c;
  }
  Grid r = x;
  for (std::size_t i = 0; i < r.at.size() && !x.shape.empty(); ++i)
    if (mask.at[i]) r.at[i] = wrapped(v.at[0], x.dtype);
  c.expected = {exactly(r)};
  return c;
}

Case one_hot_case(Dice& dice) {
  const std::int64_t n = dice.of(Ints{3, 1, 0, 100, 200, 300});
  const Grid labels = draw_positions(dice, draw_shape(dice), n);
  const DType to = dice.toss() ? draw_dtype(dice) : ts::f32;
  Case c;
  c.call = "one_hot(x, " + std::to_string(n) + ")";
  c.operands = {labels};
  c.f = [n, to](const Arrays& in) { return Arrays{ts::one_hot(in[0], n, to)}; };
  Shape s = labels.shape;
  s.push_back(n);
  c.expected = {exactly(filled(to, s, [&](Ints at) {
    const std::int64_t label = at.back();
    at.pop_back();
    return Wide(element(labels, at) == label);
  }))};
  return c;
}

// Blocks at starts of any dtype, clamped to the inside.
Case block_case(Dice& dice, bool update) {
  const std::int64_t n = dice.of(Ints{5, 1, 100, 200, 300}),
                     size = 1 + dice.below(std::min<std::int64_t>(n, 5));
  const Grid x = draw_data(dice, n), start = draw_positions(dice, {}, n);
  const Grid v = draw_array(dice, dice.toss() ? x.dtype : draw_dtype(dice), {size});
  Case c;
  c.call = (update ? "dynamic_update_slice(x, z, {y}) of " : "dynamic_slice(x, {y}) of ") +
           std::to_string(size);
  c.operands = {x, start, v};
  c.f = [update, size](const Arrays& in) -> Arrays {
    if (update) return {ts::dynamic_update_slice(in[0], in[2], {in[1]})};
    return {ts::dynamic_slice(in[0], {in[1]}, {size})};
  };
  Wide at = start.at[0] < 0 ? start.at[0] + n : start.at[0];
  at = std::clamp<Wide>(at, 0, n - size);
  Grid r = update ? x : zeros(x.dtype, {size});
  for (std::int64_t i = 0; i < size; ++i) {
    if (update)
      r.at[static_cast<std::size_t>(at + i)] = wrapped(v.at[static_cast<std::size_t>(i)], x.dtype);
    else
      r.at[static_cast<std::size_t>(i)] = x.at[static_cast<std::size_t>(at + i)];
  }
  c.expected = {exactly(r)};
  return c;
}

// Plain positions of any C++ type: outside they are errors, and ranges are clipped.
Case plain_case(Dice& dice) {
  const std::int64_t n = dice.of(Ints{5, 1, 300});
  const Grid x = draw_data(dice, n);
  const Wide p = dice.toss()   ? Wide(dice.between(-n - 1, n))
                 : dice.toss() ? draw_value(dice, ts::i64)
                               : draw_value(dice, ts::u64);
  Case c;
  c.call = "x[" + text(p) + "]";
  c.operands = {x};
  c.f = [p](const Arrays& in) -> Arrays {
    if (p < 0) return {in[0][static_cast<std::int64_t>(p)]};
    return {in[0][static_cast<std::uint64_t>(p)]};
  };
  const Wide at = from_start(p, n);
  if (at < 0)
    c.refused = Refusal::shape;
  else
    c.expected = {exactly(x.dtype, {}, {x.at[static_cast<std::size_t>(at)]})};
  return c;
}
Case range_case(Dice& dice, const std::string& how) {
  const std::int64_t n = dice.of(Ints{5, 1, 0, 30});
  const Grid x = draw_data(dice, n);
  const auto bound = [&] {
    return static_cast<std::int64_t>(dice.toss() ? Wide(dice.between(-n - 1, n + 1))
                                                 : draw_value(dice, ts::i64));
  };
  const std::int64_t start = bound(), stop = bound();
  const std::int64_t step =
      how == "range"
          ? dice.of(Ints{1, 2, -1, -3, INT64_MAX, INT64_MIN, INT32_MIN, std::int64_t{1} << 40})
          : 1;
  Case c;
  c.call = how + "(" + std::to_string(start) + ", " + std::to_string(stop) + ", " +
           std::to_string(step) + ")";
  c.operands = {x};
  c.f = [=](const Arrays& in) {
    return Arrays{in[0][how == "range"  ? ts::range(start, stop, step)
                        : how == "from" ? ts::from(start)
                                        : ts::until(stop)]};
  };
  // Clips like Python.
  const auto cut = [&](Wide v, Wide low, Wide high) {
    return std::clamp<Wide>(v < 0 ? v + n : v, low, high);
  };
  Wide first = step > 0 ? cut(start, 0, n) : cut(start, -1, n - 1),
       last = step > 0 ? cut(stop, 0, n) : cut(stop, -1, n - 1);
  if (how == "from") last = n;
  if (how == "until") first = 0;
  std::vector<Wide> want;
  for (Wide i = first; step > 0 ? i < last : i > last; i += step)
    want.push_back(x.at[static_cast<std::size_t>(i)]);
  c.expected = {exactly(x.dtype, Shape{want.size()}, want)};
  return c;
}

Case choice_case(Dice& dice) {  // rows are rows, whatever they contain
  const Grid x = draw_array(dice, draw_dtype(dice), {4});
  Case c;
  c.call = "choice(key, x, {6})";
  c.operands = {x};
  const auto f = [](const Array& a) { return ts::random::choice(ts::random::key(5), a, {6}); };
  c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
  const Seen at = seen(f(array_of(Grid{ts::i32, {4}, {0, 1, 2, 3}})));
  std::vector<Wide> want;
  for (std::size_t i = 0; i < 6; ++i)
    want.push_back(x.at[static_cast<std::size_t>(integer_of(at, i))]);
  c.expected = {exactly(x.dtype, {6}, want)};
  return c;
}

}  // namespace

std::vector<Row> position_rows() {
  std::vector<Row> rows{
      {"one_hot", one_hot_case},
      {"dynamic_slice", [](Dice& d) { return block_case(d, false); }},
      {"dynamic_update_slice", [](Dice& d) { return block_case(d, true); }},
      {"Array::at", mask_case},
      {"Array::operator[]", plain_case},
      {"range", [](Dice& d) { return range_case(d, "range"); }},
      {"from", [](Dice& d) { return range_case(d, "from"); }},
      {"until", [](Dice& d) { return range_case(d, "until"); }},
      {"random::choice", choice_case},
  };
  for (const char* how : {"take", "take_along_axis", "Array::operator[]", "Array::operator()",
                          "Array::get", "At::get"})
    rows.push_back({how, [how](Dice& d) { return take_case(d, how); }});
  for (const char* what : {"set", "add", "multiply", "min", "max"})
    rows.push_back({std::string("At::") + what, [what](Dice& d) { return update_case(d, what); }});
  return rows;
}

}  // namespace integers
