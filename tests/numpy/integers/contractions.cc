// Sums of products, which wrap once, in the common dtype of the operands.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

// Letters of the axes of x, y and the result, as einsum has them.
struct Form {
  std::string x, y, result;
};

Grid contracted(const Grid& x, const Grid& y, const Form& f, DType d) {
  std::string letters = f.result;
  for (char ch : f.x + f.y)
    if (letters.find(ch) == std::string::npos) letters += ch;
  Shape space, shape;
  for (char ch : letters) {
    const std::size_t i = f.x.find(ch);
    space.push_back(i != std::string::npos ? x.shape[i] : y.shape[f.y.find(ch)]);
    if (f.result.find(ch) != std::string::npos) shape.push_back(space.back());
  }
  Grid r = zeros(d, shape);
  const auto position = [&](const Ints& at, const std::string& of, const Shape& s) {
    Ints in;
    for (char ch : of) in.push_back(at[letters.find(ch)]);
    return static_cast<std::size_t>(ravel(in, s));
  };
  for (std::int64_t i = 0; i < space.count(); ++i) {
    const Ints at = unravel(i, space);
    Wide& to = r.at[position(at, f.result, shape)];
    to = wrapped(
        to + wrapped(times(x.at[position(at, f.x, x.shape)], y.at[position(at, f.y, y.shape)]), d),
        d);
  }
  return r;
}

using Contract = std::function<Array(Array, Array)>;
Row contraction(const std::string& name, Contract f, const std::vector<Form>& forms,
                bool numbers = false) {
  return {
      name, [=](Dice& dice) {
        const Form& form = dice.of(forms);
        std::vector<std::int64_t> extent(26);
        for (auto& n : extent) n = dice.of(Ints{1, 2, 3, 0, 9});
        const auto draw = [&](const std::string& letters, DType d) {
          Shape s;
          for (char ch : letters) s.push_back(extent[static_cast<std::size_t>(ch - 'a')]);
          return draw_array(dice, d, s);
        };
        const DType d = draw_dtype(dice);
        Grid x = draw(form.x, d), y = draw(form.y, dice.toss() ? d : draw_dtype(dice));
        if (numbers && form.y.empty() && dice.toss())
          y = draw_number(dice, d == ts::bool_ ? ts::i64 : d);
        Case c;
        c.call = name + "(x, y) as " + form.x + "," + form.y + "->" + form.result;
        c.operands = {x, y};
        c.f = [f](const Arrays& in) { return Arrays{f(in[0], in[1])}; };
        const Kind kind = promoted(kind_of(x), kind_of(y));
        if (y.number && !kind.weak && ts::is_integer(kind.dtype) && !fits(y.at[0], kind.dtype)) {
          c.refused = Refusal::dtype;
          return c;
        }
        if (ts::is_floating(kind.dtype)) {
          c.maps = false;  // libraries add the floats of a stack in another order
          c.expected = {bits_of_array(f(array_of(x, ts::f64), array_of(y, ts::f64)))};
          return c;
        }
        Grid r = contracted(x, y, form, kind.dtype);
        r.weak = kind.weak;
        c.expected = {exactly(r)};
        return c;
      }};
}

Row einsum_row(const std::string& subscripts, const Form& form) {
  return contraction(
      "einsum", [subscripts](Array x, Array y) { return ts::einsum(subscripts, x, y); }, {form});
}

// Sums within one operand keep its dtype.
Case einsum_of_one(Dice& dice) {
  const Grid x = draw_array(dice, draw_dtype(dice), draw_shape(dice, 2));
  Case c;
  c.call = "einsum(\"ij->j\", x)";
  c.operands = {x};
  c.f = [](const Arrays& in) { return Arrays{ts::einsum("ij->j", in[0])}; };
  Grid one = zeros(x.dtype, {});
  one.at[0] = 1;
  c.expected = {exactly(contracted(x, one, {"ij", "", "j"}, x.dtype))};
  return c;
}

Case trace_case(Dice& dice) {
  const Grid x = draw_array(dice, draw_dtype(dice), draw_shape(dice, 2));
  const std::int64_t offset =
      dice.of(Ints{0, 1, -1, 3, INT32_MAX, INT64_MAX, INT64_MIN, std::int64_t{1} << 32});
  const bool swap = dice.toss();
  Case c;
  c.call = "trace(x, " + std::to_string(offset) + (swap ? ", 1, 0)" : ")");
  c.operands = {x};
  c.f = [offset, swap](const Arrays& in) {
    return Arrays{swap ? ts::trace(in[0], offset, 1, 0) : ts::trace(in[0], offset)};
  };
  const DType d = bits_of(x.dtype) >= 32             ? x.dtype
                  : ts::is_unsigned_integer(x.dtype) ? ts::u32
                                                     : ts::i32;
  Wide sum = 0;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const Ints at = unravel(i, x.shape);
    if ((swap ? Wide(at[0]) - at[1] : Wide(at[1]) - at[0]) == Wide(offset))
      sum += x.at[static_cast<std::size_t>(i)];
  }
  c.expected = {exactly(d, {}, {wrapped(sum, d)})};
  return c;
}

Case outer_case(Dice& dice) {
  const Row row =
      contraction("outer", [](Array x, Array y) { return ts::outer(x, y); }, {{"a", "b", "ab"}});
  Case c = row.draw(dice);
  if (!dice.once_in(3)) return c;
  // A number is an array of one element.
  const Grid x = c.operands[0], y = draw_number(dice, x.dtype == ts::bool_ ? ts::i64 : x.dtype);
  const Kind kind = promoted(kind_of(x), kind_of(y));
  c.operands = {x, y};
  c.expected.clear();
  if (!kind.weak && !fits(y.at[0], kind.dtype)) {
    c.refused = Refusal::dtype;
    return c;
  }
  Grid r = filled(kind.dtype, {x.count(), 1}, [&](const Ints& at) {
    return wrapped(times(x.at[static_cast<std::size_t>(at[0])], y.at[0]), kind.dtype);
  });
  r.weak = kind.weak;
  c.expected = {exactly(r)};
  return c;
}

}  // namespace

std::vector<Row> contraction_rows() {
  const std::vector<Form> dots{{"a", "a", ""},   {"ab", "b", "a"}, {"ab", "bc", "ac"},
                               {"a", "ab", "b"}, {"ab", "", "ab"}, {"", "", ""}};
  const std::vector<Form> products{{"a", "a", ""},
                                   {"ab", "b", "a"},
                                   {"ab", "bc", "ac"},
                                   {"a", "ab", "b"},
                                   {"dab", "dbc", "dac"}};
  return {
      contraction(
          "dot", [](Array x, Array y) { return ts::dot(x, y); }, dots, true),
      contraction(
          "Array::dot", [](Array x, Array y) { return x.dot(y); }, dots, true),
      contraction(
          "matmul", [](Array x, Array y) { return ts::matmul(x, y); }, products),
      contraction(
          "Array::matmul", [](Array x, Array y) { return x.matmul(y); }, products),
      contraction(
          "inner", [](Array x, Array y) { return ts::inner(x, y); },
          {{"a", "a", ""}, {"ab", "cb", "ac"}, {"a", "", "a"}}, true),
      contraction("tensordot", [](Array x, Array y) { return ts::tensordot(x, y, 1); },
                  {{"ab", "bc", "ac"}, {"a", "a", ""}}),
      contraction("tensordot", [](Array x, Array y) { return ts::tensordot(x, y); },
                  {{"ab", "ab", ""}, {"cab", "ab", "c"}}),
      contraction(
          "tensordot", [](Array x, Array y) { return ts::tensordot(x, y, 0); },
          {{"a", "b", "ab"}, {"a", "", "a"}}, true),
      {"outer", outer_case},
      einsum_row("ij,jk->ik", {"ab", "bc", "ac"}),
      einsum_row("bi,bi->b", {"ab", "ab", "a"}),
      einsum_row("i,j", {"a", "b", "ab"}),
      {"einsum", einsum_of_one},
      {"trace", trace_case},
  };
}

}  // namespace integers
