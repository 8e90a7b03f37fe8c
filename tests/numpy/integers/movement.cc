// Functions that move elements: each element keeps its value, however large shifts and counts are.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

// The source of each result element is found by applying the function to positions.
using Move = std::function<Arrays(Dice&, const Grid&, std::string&, std::function<Arrays(Array)>&)>;

Row moved(const std::string& name,
          std::function<std::function<Arrays(Array)>(Dice&, const Shape&)> draw, int rank = -1) {
  return {name, [=](Dice& dice) {
            const Grid x = draw_array(dice, draw_dtype(dice),
                                      rank < 0 ? draw_shape(dice) : draw_shape(dice, rank));
            const std::function<Arrays(Array)> f = draw(dice, x.shape);
            Case c;
            c.call = name + "(x)";
            c.operands = {x};
            c.f = [f](const Arrays& in) { return f(in[0]); };
            Grid from = zeros(ts::i32, x.shape);
            for (std::int64_t i = 0; i < x.count(); ++i)
              from.at[static_cast<std::size_t>(i)] = i + 1;
            for (const Array& places : f(array_of(from))) {
              const Seen s = seen(places);
              Grid r = zeros(x.dtype, s.shape);
              for (std::size_t i = 0; i < r.at.size(); ++i)
                if (const Wide p = integer_of(s, i); p > 0)
                  r.at[i] = x.at[static_cast<std::size_t>(p - 1)];
              c.expected.push_back(exactly(r));
            }
            return c;
          }};
}
using OfShape = std::function<std::function<Arrays(Array)>(Dice&, const Shape&)>;
OfShape always(std::function<Array(Array)> f) {
  return [f](Dice&, const Shape&) { return [f](Array x) { return Arrays{f(x)}; }; };
}
OfShape along(std::function<Array(Array, std::int64_t)> f) {
  return [f](Dice& dice, const Shape& s) {
    const std::int64_t a = draw_axis(dice, s);
    return [f, a](Array x) { return Arrays{f(x, a)}; };
  };
}

std::int64_t count_value(Dice& dice) {
  return dice.of(Ints{1, -1, 0, 2, 3, -7, INT32_MAX, INT32_MIN, std::int64_t{1} << 32,
                      -(std::int64_t{1} << 53) - 1, INT64_MAX, INT64_MAX - 1, INT64_MIN,
                      INT64_MIN + 1});
}

Case roll_case(Dice& dice) {
  const Grid x = draw_array(dice);
  const std::int64_t by = count_value(dice);
  std::optional<std::int64_t> axis;
  if (!x.shape.empty() && dice.toss()) axis = draw_axis(dice, x.shape);
  Case c;
  c.call = "roll(x, " + std::to_string(by) + (axis ? ", " + std::to_string(*axis) : "") + ")";
  c.operands = {x};
  c.f = [by, axis](const Arrays& in) { return Arrays{ts::roll(in[0], by, axis)}; };
  const Shape flat{x.count()};
  const Shape& s = axis ? x.shape : flat;
  const std::size_t a = axis ? axis_at(*axis, x.shape) : 0;
  Grid r = x;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    Ints at = unravel(i, s);
    const Wide n = s[a], to = ((at[a] + Wide(by)) % n + n) % n;
    at[a] = static_cast<std::int64_t>(to);
    r.at[static_cast<std::size_t>(ravel(at, s))] = x.at[static_cast<std::size_t>(i)];
  }
  c.expected = {exactly(r)};
  return c;
}

Case triangle_case(Dice& dice, bool lower) {
  const Grid x = draw_array(dice, draw_dtype(dice), draw_shape(dice, 2));
  const std::int64_t k = count_value(dice);
  Case c;
  c.call = std::string(lower ? "tril" : "triu") + "(x, " + std::to_string(k) + ")";
  c.operands = {x};
  c.f = [lower, k](const Arrays& in) {
    return Arrays{lower ? ts::tril(in[0], k) : ts::triu(in[0], k)};
  };
  c.expected = {exactly(filled(x.dtype, x.shape, [&](const Ints& at) {
    const Wide above = Wide(at[1]) - at[0] - k;
    return (lower ? above <= 0 : above >= 0) ? element(x, at) : 0;
  }))};
  return c;
}

Case pad_case(Dice& dice) {
  const Grid x = draw_array(dice);
  const bool is_number = dice.toss();
  const Grid value = is_number ? draw_number(dice, x.dtype == ts::bool_ ? ts::i64 : x.dtype)
                               : draw_array(dice, dice.toss() ? x.dtype : draw_dtype(dice), {});
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  Shape s;
  for (std::int64_t n : x.shape) {
    widths.emplace_back(dice.below(3), dice.below(3));
    s.push_back(n + widths.back().first + widths.back().second);
  }
  Case c;
  c.call = "pad(x, ..., y)";
  c.operands = {x, value};
  c.f = [widths](const Arrays& in) { return Arrays{ts::pad(in[0], widths, in[1])}; };
  if (value.number && ts::is_integer(x.dtype) && !fits(value.at[0], x.dtype)) {
    c.refused = Refusal::dtype;
    return c;
  }
  c.expected = {exactly(filled(x.dtype, s, [&](Ints at) {
    for (std::size_t d = 0; d < at.size(); ++d) {
      at[d] -= widths[d].first;
      if (at[d] < 0 || at[d] >= x.shape[d]) return wrapped(value.at[0], x.dtype);
    }
    return element(x, at);
  }))};
  return c;
}

// Arrays of different dtypes are joined in their common dtype.
Case join_case(Dice& dice, bool stacks) {
  const Shape s = stacks ? draw_shape(dice) : draw_shape(dice, 2);
  std::vector<Grid> parts;
  Kind kind{ts::bool_, false};
  for (std::int64_t n = 1 + dice.below(3); n > 0; --n) {
    parts.push_back(draw_array(dice, draw_dtype(dice), s));
    kind = promoted(kind, kind_of(parts.back()));
    if (ts::is_floating(kind.dtype)) parts.pop_back(), kind = kind_of(parts.back());
  }
  kind = {ts::bool_, false};
  for (const Grid& g : parts) kind = promoted(kind, kind_of(g));
  Case c;
  // Scalars stack with numbers.
  if (stacks && s.empty()) {
    parts.push_back(draw_number(dice, kind.dtype == ts::bool_ ? ts::i64 : kind.dtype));
    kind = promoted(kind, kind_of(parts.back()));
    if (!kind.weak && !fits(parts.back().at[0], kind.dtype)) c.refused = Refusal::dtype;
  }
  c.call = stacks ? "stack" : "concatenate";
  c.operands = parts;
  c.f = [stacks](const Arrays& in) { return Arrays{stacks ? ts::stack(in) : ts::concatenate(in)}; };
  Grid r = zeros(kind.dtype, s);
  r.at.clear();
  r.weak = kind.weak;
  const auto n = static_cast<std::int64_t>(parts.size());
  if (stacks)
    r.shape.insert(r.shape.begin(), n);
  else
    r.shape[0] *= n;
  for (const Grid& g : parts) r.at.insert(r.at.end(), g.at.begin(), g.at.end());
  c.expected = {exactly(r)};
  return c;
}

// The order of the numbers; equal numbers keep their order.
std::vector<std::int64_t> order_of(const std::vector<Wide>& v, bool descending) {
  Ints p(v.size());
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<std::int64_t>(i);
  std::stable_sort(p.begin(), p.end(), [&](std::int64_t a, std::int64_t b) {
    const Wide x = v[static_cast<std::size_t>(a)], y = v[static_cast<std::size_t>(b)];
    return descending ? x > y : x < y;
  });
  return p;
}
enum class Sort { values, positions, top };
Case sort_case(Dice& dice, Sort what) {
  const Grid x =
      draw_array(dice, draw_dtype(dice), draw_shape(dice, 1 + static_cast<int>(dice.below(2))));
  const std::int64_t axis = what == Sort::top ? -1 : draw_axis(dice, x.shape);
  const std::size_t a = axis_at(axis, x.shape);
  const std::int64_t k = what == Sort::top ? dice.below(x.shape[a] + 1) : x.shape[a];
  Case c;
  c.call = what == Sort::values      ? "sort(x)"
           : what == Sort::positions ? "argsort(x)"
                                     : "top_k(x, " + std::to_string(k) + ")";
  c.operands = {x};
  c.f = [what, axis, k](const Arrays& in) -> Arrays {
    if (what == Sort::values) return {ts::sort(in[0], axis)};
    if (what == Sort::positions) return {ts::argsort(in[0], axis)};
    const ts::TopK top = ts::top_k(in[0], k);
    return {top.values, top.indices};
  };
  Shape s = x.shape;
  s[a] = k;
  Grid values = zeros(x.dtype, s), places = zeros(ts::i32, s);
  for (std::int64_t i = 0; i < values.count(); ++i) {
    Ints at = unravel(i, s);
    const std::int64_t rank = at[a];
    std::vector<Wide> line;
    for (at[a] = 0; at[a] < x.shape[a]; ++at[a]) line.push_back(element(x, at));
    const std::int64_t p = order_of(line, what == Sort::top)[static_cast<std::size_t>(rank)];
    values.at[static_cast<std::size_t>(i)] = line[static_cast<std::size_t>(p)];
    places.at[static_cast<std::size_t>(i)] = p;
  }
  c.expected = {exactly(what == Sort::positions ? places : values)};
  if (what == Sort::top) c.expected.push_back(exactly(places));
  return c;
}

}  // namespace

std::vector<Row> movement_rows() {
  const auto halves = [](bool at) -> OfShape {
    return [at](Dice& dice, const Shape& s) -> std::function<Arrays(Array)> {
      const std::int64_t a = draw_axis(dice, s);
      return [at, a](Array x) { return at ? ts::split_at(x, {1}, a) : ts::split(x, 1, a); };
    };
  };
  return {
      moved("reshape", always([](Array x) {
              return ts::reshape(x, {-1, 1});
            }),
            1),
      moved("Array::reshape", always([](Array x) { return x.reshape(-1, 1); }), 1),
      moved("ravel", always([](Array x) { return ts::ravel(x); })),
      moved("Array::ravel", always([](Array x) { return x.ravel(); })),
      moved("Array::flatten", always([](Array x) { return x.flatten(); })),
      moved("transpose", always([](Array x) { return ts::transpose(x); })),
      moved("Array::transpose", always([](Array x) { return x.transpose(); })),
      moved("Array::T", always([](Array x) { return x.T(); })),
      moved("swapaxes", along([](Array x, std::int64_t a) { return ts::swapaxes(x, a, 0); }), 3),
      moved("Array::swapaxes", along([](Array x, std::int64_t a) { return x.swapaxes(a, 0); }), 3),
      moved("moveaxis", along([](Array x, std::int64_t a) { return ts::moveaxis(x, a, -1); }), 3),
      moved("expand_dims", along([](Array x, std::int64_t a) { return ts::expand_dims(x, a); }), 2),
      moved("squeeze", always([](Array x) { return ts::squeeze(x); })),
      moved("Array::squeeze", always([](Array x) { return x.squeeze(); })),
      moved("broadcast_to",
            [](Dice&, const Shape& s) -> std::function<Arrays(Array)> {
              Shape to = s;
              to.insert(to.begin(), 2);
              return [to](Array x) { return Arrays{ts::broadcast_to(x, to)}; };
            }),
      moved("split", halves(false), 2),
      moved(
          "split_at",
          [](Dice&, const Shape& s) -> std::function<Arrays(Array)> {
            const std::int64_t n = s[0] / 2;
            return [n](Array x) { return ts::split_at(x, {n}); };
          },
          2),
      moved("tile", always([](Array x) {
              return ts::tile(x, {2, 3});
            }),
            2),
      moved("repeat", along([](Array x, std::int64_t a) { return ts::repeat(x, 3, a); }), 2),
      moved("repeat", always([](Array x) { return ts::repeat(x, 2); })),
      moved("flip", along([](Array x, std::int64_t a) { return ts::flip(x, a); }), 2),
      moved("diag", always([](Array x) { return ts::diag(x); }), 1),
      moved("diag", always([](Array x) { return ts::diag(x); }), 2),
      moved("Array::unpack", always([](Array x) { return ts::expand_dims(x, 0).unpack<1>()[0]; })),
      moved("random::permutation",
            always([](Array x) { return ts::random::permutation(ts::random::key(3), x); }), 2),
      {"roll", roll_case},
      {"tril", [](Dice& d) { return triangle_case(d, true); }},
      {"triu", [](Dice& d) { return triangle_case(d, false); }},
      {"pad", pad_case},
      {"concatenate", [](Dice& d) { return join_case(d, false); }},
      {"stack", [](Dice& d) { return join_case(d, true); }},
      {"sort", [](Dice& d) { return sort_case(d, Sort::values); }},
      {"argsort", [](Dice& d) { return sort_case(d, Sort::positions); }},
      {"top_k", [](Dice& d) { return sort_case(d, Sort::top); }},
  };
}

}  // namespace integers
