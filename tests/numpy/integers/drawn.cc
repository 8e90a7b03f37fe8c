// Random numbers: bounds, seeds and data of every integer dtype.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

// Integers in [lo, hi), as far as the dtype holds them. Numbers as bounds that do not fit, or leave
// no integers, are errors.
Case randint_case(Dice& dice) {
  const DType d = draw_dtype(dice, false);
  const bool numbers = dice.toss();
  Grid lo = numbers ? draw_number(dice, d) : draw_array(dice, d, {});
  Grid hi = numbers ? draw_number(dice, d) : draw_array(dice, d, {});
  if (!numbers && lo.at[0] >= hi.at[0]) {
    std::swap(lo.at, hi.at);
    if (lo.at[0] == hi.at[0]) lo.at[0] = least(d), hi.at[0] = most(d);
  }
  Case c;
  c.call = "randint(key, {64}, x, y, " + std::string(ts::short_name_of(d)) + ")";
  c.operands = {lo, hi};
  c.maps = false;
  c.captures = true;
  c.f = [d](const Arrays& in) {
    return Arrays{ts::random::randint(ts::random::key(11), {64}, in[0], in[1], d)};
  };
  const Wide l = lo.at[0], h = hi.at[0];
  // Narrow dtypes accept one more than their largest value as a bound.
  const Wide highest = most(d) + (bits_of(d) < 32 ? 1 : 0);
  if (numbers && (l < least(d) || h > highest || l >= h)) {
    c.refused = Refusal::shape;
    return c;
  }
  Expected e;
  e.dtype = d;
  e.shape = {64};
  e.low.assign(64, static_cast<long double>(l));
  e.high.assign(64, static_cast<long double>(h - 1));
  c.expected = {e};
  return c;
}

// A key depends on the low 32 bits of the number that is folded in, whatever its dtype.
Case fold_case(Dice& dice) {
  Case c;
  c.operands = {dice.toss() ? draw_number(dice, ts::i64)
                            : draw_array(dice, draw_dtype(dice, false), {})};
  c.call = "fold_in(key, x)";
  c.f = [](const Arrays& in) { return Arrays{ts::random::fold_in(ts::random::key(7), in[0])}; };
  const Grid low{ts::u32, {}, {wrapped(c.operands[0].at[0], ts::u32)}};
  c.expected = {bits_of_array(ts::random::fold_in(ts::random::key(7), array_of(low)))};
  return c;
}

// The two words of the seed.
Case key_case(Dice& dice) {
  const Wide seed = draw_value(dice, ts::u64);
  Case c;
  c.call = "key(" + text(seed) + ")";
  c.maps = false;
  c.f = [seed](const Arrays&) { return Arrays{ts::random::key(static_cast<std::uint64_t>(seed))}; };
  c.expected = {exactly(ts::u32, {2}, {seed >> 32, wrapped(seed, ts::u32)})};
  return c;
}

// Bounds are converted to floats: the result is that of the float values.
Case uniform_case(Dice& dice) {
  Case c;
  const DType d = draw_dtype(dice, false);
  c.operands = {draw_array(dice, d, {}), draw_array(dice, d, {})};
  const DType to = dice.toss() ? ts::f32 : ts::f64;
  c.call = "uniform(key, {8}, " + std::string(ts::short_name_of(to)) + ", x, y)";
  const auto f = [to](const Array& a, const Array& b) {
    return ts::random::uniform(ts::random::key(3), {8}, to, a, b);
  };
  c.f = [f](const Arrays& in) { return Arrays{f(in[0], in[1])}; };
  c.expected = {bits_of_array(f(array_of(c.operands[0], to), array_of(c.operands[1], to)))};
  return c;
}
Case of_floats(Dice& dice, const std::string& name, std::function<Array(Array)> f,
               const Shape& shape) {
  Case c;
  c.operands = {draw_array(dice, draw_dtype(dice), shape)};
  c.call = name + "(key, x)";
  c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
  c.expected = {bits_of_array(
      f(array_of(c.operands[0], bits_of(c.operands[0].dtype) == 64 ? ts::f64 : ts::f32)))};
  return c;
}

}  // namespace

std::vector<Row> random_rows() {
  return {
      {"random::randint", randint_case},
      {"random::fold_in", fold_case},
      {"random::key", key_case},
      {"random::uniform", uniform_case},
      {"random::bernoulli",
       [](Dice& d) {
         return of_floats(d, "bernoulli",
                          [](Array p) { return ts::random::bernoulli(ts::random::key(1), p); },
                          {9});
       }},
      {"random::categorical",
       [](Dice& d) {
         return of_floats(d, "categorical",
                          [](Array x) { return ts::random::categorical(ts::random::key(1), x); },
                          {9});
       }},
      {"random::truncated_normal",
       [](Dice& dice) {
         const std::int64_t lower = dice.between(-3, 3);
         Case c;
         c.operands = {Grid{draw_dtype(dice, false), {}, {lower < 0 ? 0 : lower}}};
         c.call = "truncated_normal(key, x, 5)";
         const auto f = [](const Array& a) {
           return ts::random::truncated_normal(ts::random::key(2), a, 5, {4});
         };
         c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
         c.expected = {bits_of_array(f(array_of(c.operands[0], ts::f32)))};
         return c;
       }},
  };
}

}  // namespace integers
