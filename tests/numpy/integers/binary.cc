// Functions of two operands: arrays of any dtypes, which broadcast, or one and a bare number.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

using Binary = std::function<Array(Array, Array)>;

struct Pair {
  Grid x, y;
};
// Numbers may be on either side. `d` is the dtype that the number is drawn for.
Pair draw_pair(Dice& dice, bool numbers = true) {
  const std::int64_t how = dice.below(5);
  Grid x = draw_array(dice);
  if (how >= 3 && numbers) {
    Grid n = draw_number(dice, x.dtype == ts::bool_ ? ts::i64 : x.dtype);
    return dice.toss() ? Pair{n, x} : Pair{x, n};
  }
  const DType d = dice.toss() ? x.dtype : draw_dtype(dice);
  if (how == 1) {  // every pair of values
    const Shape column{5, 1}, row{7};
    x = draw_array(dice, x.dtype, column);
    return {x, draw_array(dice, d, row)};
  }
  return {x, draw_array(dice, d, how == 2 ? Shape{} : x.shape)};
}

bool number_fits(const Grid& g, const Kind& common) {
  return !g.number || common.weak || !ts::is_integer(common.dtype) || fits(g.at[0], common.dtype);
}

// How booleans are treated: combined as one bit, refused, or converted to int32.
enum class Booleans { combine, refused, as_integers };

Row arithmetic(const std::string& name, Binary f, std::function<Wide(Wide, Wide, DType)> g,
               Booleans booleans) {
  return {name, [=](Dice& dice) {
            const auto [x, y] = draw_pair(dice);
            Case c;
            c.call = name + "(x, y)";
            c.operands = {x, y};
            c.f = [f](const Arrays& in) { return Arrays{f(in[0], in[1])}; };
            Kind kind = promoted(kind_of(x), kind_of(y));
            if (!number_fits(x, kind) || !number_fits(y, kind) ||
                (kind.dtype == ts::bool_ && booleans == Booleans::refused)) {
              c.refused = Refusal::dtype;
              return c;
            }
            if (kind.dtype == ts::bool_ && booleans == Booleans::as_integers) kind.dtype = ts::i32;
            if (ts::is_floating(kind.dtype)) {
              c.expected = {bits_of_array(f(array_of(x, ts::f64), array_of(y, ts::f64)))};
              return c;
            }
            Grid r = filled(kind.dtype, broadcast(x.shape, y.shape), [&](const Ints& at) {
              return wrapped(g(element(x, at), element(y, at), kind.dtype), kind.dtype);
            });
            r.weak = kind.weak;
            c.expected = {exactly(r)};
            return c;
          }};
}

Row comparison(const std::string& name, Binary f, bool (*g)(Wide, Wide)) {
  return {name, [=](Dice& dice) {
            const auto [x, y] = draw_pair(dice);
            Case c;
            c.call = name + "(x, y)";
            c.operands = {x, y};
            c.f = [f](const Arrays& in) { return Arrays{f(in[0], in[1])}; };
            c.expected = {exactly(
                filled(ts::bool_, broadcast(x.shape, y.shape), [&, x = x, y = y](const Ints& at) {
                  return Wide(g(element(x, at), element(y, at)));
                }))};
            return c;
          }};
}

// Computed in floats: both operands are converted to the float type of their common dtype, once.
Row in_floats(const std::string& name, Binary f) {
  return {name, [=](Dice& dice) {
            const auto [x, y] = draw_pair(dice);
            Case c;
            c.call = name + "(x, y)";
            c.operands = {x, y};
            c.f = [f](const Arrays& in) { return Arrays{f(in[0], in[1])}; };
            const Kind kind = promoted(kind_of(x), kind_of(y));
            if (kind.weak) {  // a boolean array with a number: scalars compute with the doubles
              const DType d = x.shape.empty() && y.shape.empty() ? ts::f64 : ts::f32;
              c.expected = {bits_of_array(f(array_of(x, d), array_of(y, d)).astype(ts::f32))};
              return c;
            }
            const DType d = bits_of(kind.dtype) == 64 ? ts::f64 : ts::f32;
            c.expected = {bits_of_array(f(array_of(x, d), array_of(y, d)))};
            return c;
          }};
}

Wide floor_div(Wide x, Wide y) {
  if (y == 0) return 0;
  return x / y - ((x % y != 0) && ((x < 0) != (y < 0)));
}
Wide floor_rem(Wide x, Wide y, DType) { return y == 0 ? 0 : x - y * floor_div(x, y); }

Wide power_of(Wide x, Wide y, DType) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  Wide result = 1;
  for (Wide square = x; y > 0; y >>= 1) {
    if (y & 1) result = times(result, square);
    square = times(square, square);
  }
  return result;
}

// The amount is unsigned; the width or more shifts every bit out.
Wide left(Wide x, Wide y, DType d) {
  return y < 0 || y >= bits_of(d) ? 0 : times(x, Wide(1) << static_cast<int>(y));
}
Wide right(Wide x, Wide y, DType d) {
  if (y < 0 || y >= bits_of(d)) return x < 0 ? -1 : 0;
  return x >> static_cast<int>(y);
}

// int64 and uint64 have float64 in common, whose bits are not combined.
Row bitwise(const std::string& name, Binary f, std::function<Wide(Wide, Wide, DType)> g,
            Booleans booleans) {
  const Row row = arithmetic(
      name, [](Array x, Array) { return x; }, g, booleans);
  return {name, [=](Dice& dice) {
            Case c = row.draw(dice);
            c.f = [f](const Arrays& in) { return Arrays{f(in[0], in[1])}; };
            if (ts::is_floating(promoted(kind_of(c.operands[0]), kind_of(c.operands[1])).dtype)) {
              c.refused = Refusal::dtype;
              c.expected.clear();
            }
            return c;
          }};
}

// A bare exponent is static: a negative one is refused, and a power of booleans is one of int32.
Case power_case(Dice& dice, const std::string& name, const Binary& f) {
  Case c = arithmetic(name, f, power_of, Booleans::as_integers).draw(dice);
  const Grid& y = c.operands[1];
  // A trace does not know the values of its arguments, so it treats numbers like arrays.
  c.captures = y.number && y.at[0] < 0;
  if (c.captures) c.refused = Refusal::dtype;
  return c;
}

}  // namespace

std::vector<Row> binary_rows() {
  const auto add = [](Wide x, Wide y, DType) { return x + y; };
  const auto sub = [](Wide x, Wide y, DType) { return x - y; };
  const auto mul = [](Wide x, Wide y, DType) { return times(x, y); };
  const auto div = [](Wide x, Wide y, DType) { return floor_div(x, y); };
  std::vector<Row> rows{
      arithmetic(
          "add", [](Array x, Array y) { return ts::add(x, y); }, add, Booleans::combine),
      arithmetic(
          "operator+", [](Array x, Array y) { return x + y; }, add, Booleans::combine),
      arithmetic(
          "operator+=", [](Array x, Array y) { return x += y; }, add, Booleans::combine),
      arithmetic(
          "subtract", [](Array x, Array y) { return ts::subtract(x, y); }, sub, Booleans::refused),
      arithmetic(
          "operator-", [](Array x, Array y) { return x - y; }, sub, Booleans::refused),
      arithmetic(
          "operator-=", [](Array x, Array y) { return x -= y; }, sub, Booleans::refused),
      arithmetic(
          "multiply", [](Array x, Array y) { return ts::multiply(x, y); }, mul, Booleans::combine),
      arithmetic(
          "operator*", [](Array x, Array y) { return x * y; }, mul, Booleans::combine),
      arithmetic(
          "operator*=", [](Array x, Array y) { return x *= y; }, mul, Booleans::combine),
      arithmetic(
          "floor_divide", [](Array x, Array y) { return ts::floor_divide(x, y); }, div,
          Booleans::as_integers),
      arithmetic(
          "remainder", [](Array x, Array y) { return ts::remainder(x, y); }, floor_rem,
          Booleans::as_integers),
      arithmetic(
          "operator%", [](Array x, Array y) { return x % y; }, floor_rem, Booleans::as_integers),
      arithmetic(
          "maximum", [](Array x, Array y) { return ts::maximum(x, y); },
          [](Wide x, Wide y, DType) { return std::max(x, y); }, Booleans::combine),
      arithmetic(
          "minimum", [](Array x, Array y) { return ts::minimum(x, y); },
          [](Wide x, Wide y, DType) { return std::min(x, y); }, Booleans::combine),
      {"power",
       [](Dice& d) {
         return power_case(d, "power", [](Array x, Array y) { return ts::power(x, y); });
       }},
      {"pow",
       [](Dice& d) {
         return power_case(d, "pow", [](Array x, Array y) { return ts::pow(x, y); });
       }},
      bitwise(
          "operator&", [](Array x, Array y) { return x & y; },
          [](Wide x, Wide y, DType) { return x & y; }, Booleans::combine),
      bitwise(
          "operator|", [](Array x, Array y) { return x | y; },
          [](Wide x, Wide y, DType) { return x | y; }, Booleans::combine),
      bitwise(
          "operator^", [](Array x, Array y) { return x ^ y; },
          [](Wide x, Wide y, DType) { return x ^ y; }, Booleans::combine),
      bitwise(
          "operator<<", [](Array x, Array y) { return x << y; }, left, Booleans::as_integers),
      bitwise(
          "operator>>", [](Array x, Array y) { return x >> y; }, right, Booleans::as_integers),
      comparison(
          "equal", [](Array x, Array y) { return ts::equal(x, y); },
          [](Wide x, Wide y) { return x == y; }),
      comparison(
          "operator==", [](Array x, Array y) { return x == y; },
          [](Wide x, Wide y) { return x == y; }),
      comparison(
          "not_equal", [](Array x, Array y) { return ts::not_equal(x, y); },
          [](Wide x, Wide y) { return x != y; }),
      comparison(
          "operator!=", [](Array x, Array y) { return x != y; },
          [](Wide x, Wide y) { return x != y; }),
      comparison(
          "less", [](Array x, Array y) { return ts::less(x, y); },
          [](Wide x, Wide y) { return x < y; }),
      comparison(
          "operator<", [](Array x, Array y) { return x < y; },
          [](Wide x, Wide y) { return x < y; }),
      comparison(
          "less_equal", [](Array x, Array y) { return ts::less_equal(x, y); },
          [](Wide x, Wide y) { return x <= y; }),
      comparison(
          "operator<=", [](Array x, Array y) { return x <= y; },
          [](Wide x, Wide y) { return x <= y; }),
      comparison(
          "greater", [](Array x, Array y) { return ts::greater(x, y); },
          [](Wide x, Wide y) { return x > y; }),
      comparison(
          "operator>", [](Array x, Array y) { return x > y; },
          [](Wide x, Wide y) { return x > y; }),
      comparison(
          "greater_equal", [](Array x, Array y) { return ts::greater_equal(x, y); },
          [](Wide x, Wide y) { return x >= y; }),
      comparison(
          "operator>=", [](Array x, Array y) { return x >= y; },
          [](Wide x, Wide y) { return x >= y; }),
      comparison(
          "logical_and", [](Array x, Array y) { return ts::logical_and(x, y); },
          [](Wide x, Wide y) { return x && y; }),
      comparison(
          "operator&&", [](Array x, Array y) { return x && y; },
          [](Wide x, Wide y) { return x && y; }),
      comparison(
          "logical_or", [](Array x, Array y) { return ts::logical_or(x, y); },
          [](Wide x, Wide y) { return x || y; }),
      comparison(
          "operator||", [](Array x, Array y) { return x || y; },
          [](Wide x, Wide y) { return x || y; }),
      comparison(
          "logical_xor", [](Array x, Array y) { return ts::logical_xor(x, y); },
          [](Wide x, Wide y) { return (x != 0) != (y != 0); }),
      in_floats("divide", [](Array x, Array y) { return ts::divide(x, y); }),
      in_floats("operator/", [](Array x, Array y) { return x / y; }),
      in_floats("operator/=", [](Array x, Array y) { return x /= y; }),
      in_floats("arctan2", [](Array x, Array y) { return ts::arctan2(x, y); }),
      in_floats("logaddexp", [](Array x, Array y) { return ts::logaddexp(x, y); }),
      in_floats("hypot", [](Array x, Array y) { return ts::hypot(x, y); }),
  };
  return rows;
}

}  // namespace integers
