#include "numpy/integers/cases.h"

namespace integers {

namespace {

// The limits of all dtypes, the powers of two above which floats and indices lose integers, and the
// numbers next to each; simple numbers first, so that shrinking leads to them.
const std::vector<Wide>& edges() {
  static const auto& all = *[] {
    auto* v = new std::vector<Wide>{0, 1, -1, 2, 3, -2, 7, -7, 13, 100};
    for (int k : {7, 8, 15, 16, 24, 31, 32, 53, 63, 64})
      for (Wide side : {-1, 0, 1}) {
        v->push_back((Wide(1) << k) + side);
        v->push_back(-(Wide(1) << k) + side);
      }
    return v;
  }();
  return all;
}
const std::vector<Wide>& edges_of(DType d) {
  static const auto& all = *[] {
    auto* of = new std::vector<std::vector<Wide>>(ts::kDTypeCount);
    for (DType e : all_dtypes()) {
      std::vector<Wide>& v = (*of)[static_cast<std::size_t>(e)];
      for (Wide n : edges())
        if (fits(n, e)) v.push_back(n);
      // The dtype's own limits are repeated, so that they are drawn as often as all other values.
      for (std::size_t rest = v.size(); rest > 0; rest -= std::min<std::size_t>(rest, 4))
        v.insert(v.end(),
                 {least(e), least(e) + (e != ts::bool_), most(e) - (e != ts::bool_), most(e)});
    }
    return of;
  }();
  return all[static_cast<std::size_t>(d)];
}

// The outcome of a call: its results, or the error that it threw.
struct Run {
  Refusal refused = Refusal::none;
  std::string error;
  std::vector<Seen> results;
};
Run run(const std::function<Arrays()>& f) {
  Run r;
  try {
    for (const Array& a : f()) r.results.push_back(seen(a));
  } catch (const ts::DTypeError& e) {
    r.refused = Refusal::dtype, r.error = e.what();
  } catch (const ts::ShapeError& e) {
    r.refused = Refusal::shape, r.error = e.what();
  } catch (const std::exception& e) {
    r.refused = Refusal::none, r.error = std::string("another error: ") + e.what();
  }
  return r;
}
const char* name_of(Refusal r) {
  return r == Refusal::dtype ? "a DTypeError" : r == Refusal::shape ? "a ShapeError" : "a result";
}

std::string type_text(DType d, bool weak, const Shape& s) {
  std::string t = std::string(ts::short_name_of(d)) + (weak ? "*" : "") + "[";
  for (std::int64_t n : s) t += std::to_string(n) + ",";
  return t + "]";
}

std::string against(const Seen& got, const Expected& want) {
  if (want.same) {
    Seen other = seen(*want.same);
    other.weak = got.weak;
    if (got.dtype != other.dtype || !(got.shape == other.shape))
      return "is " + type_text(got.dtype, false, got.shape) + ", expected " +
             type_text(other.dtype, false, other.shape);
    for (std::size_t i = 0; i < got.bits.size(); ++i)
      if (got.bits[i] != other.bits[i])
        return "element " + std::to_string(i) + " is " + text(got, i) + ", expected " +
               text(other, i);
    return "";
  }
  const DType dtype = want.exact ? want.exact->dtype : want.dtype;
  const Shape& shape = want.exact ? want.exact->shape : want.shape;
  const bool weak = want.exact ? want.exact->weak : got.weak;
  if (got.dtype != dtype || !(got.shape == shape) || got.weak != weak)
    return "is " + type_text(got.dtype, got.weak, got.shape) + ", expected " +
           type_text(dtype, weak, shape);
  for (std::size_t i = 0; i < got.bits.size(); ++i) {
    if (want.exact && ts::is_floating(dtype)) {
      // Floats that are whole numbers.
      if (real_of(got, i) != static_cast<long double>(want.exact->at[i]))
        return "element " + std::to_string(i) + " is " + text(got, i) + ", expected " +
               text(want.exact->at[i]);
    } else if (want.exact) {
      if (integer_of(got, i) != want.exact->at[i])
        return "element " + std::to_string(i) + " is " + text(got, i) + ", expected " +
               text(want.exact->at[i]);
    } else if (const long double v = real_of(got, i); !(v >= want.low[i] && v <= want.high[i])) {
      return "element " + std::to_string(i) + " is " + std::to_string(v) + ", expected " +
             std::to_string(want.low[i]) + " to " + std::to_string(want.high[i]);
    }
  }
  return "";
}

std::string agree(const Run& got, const Run& eager, const std::string& how) {
  if (got.refused != eager.refused || got.error.empty() != eager.error.empty())
    return how + " gives " + (got.error.empty() ? "a result" : got.error) + "\n  eagerly " +
           (eager.error.empty() ? "a result" : eager.error);
  for (std::size_t k = 0; k < got.results.size(); ++k) {
    const Seen &a = got.results[k], &b = eager.results[k];
    if (a.dtype != b.dtype || a.weak != b.weak || !(a.shape == b.shape))
      return how + ": result " + std::to_string(k) + " is " + type_text(a.dtype, a.weak, a.shape) +
             ", eagerly " + type_text(b.dtype, b.weak, b.shape);
    for (std::size_t i = 0; i < a.bits.size(); ++i)
      if (a.bits[i] != b.bits[i])
        return how + ": element " + std::to_string(i) + " of result " + std::to_string(k) + " is " +
               text(a, i) + ", eagerly " + text(b, i);
  }
  return "";
}

// The operands that `mask` names are the arguments; the others are captured.
std::function<Arrays(Arrays)> of_some(const Case& c, const Arrays& in,
                                      const std::vector<bool>& mask) {
  return [&c, in, mask](Arrays some) {
    Arrays all = in;
    for (std::size_t i = 0, next = 0; i < all.size(); ++i)
      if (mask[i]) all[i] = some[next++];
    return c.f(all);
  };
}
Arrays picked(const Arrays& in, const std::vector<bool>& mask) {
  Arrays some;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (mask[i]) some.push_back(in[i]);
  return some;
}

Run member_of(const Run& both, std::size_t member) {
  Run one = both;
  for (Seen& s : one.results) {
    const std::size_t n = s.bits.size() / 2;
    s.bits =
        std::vector<std::uint64_t>(s.bits.begin() + static_cast<std::ptrdiff_t>(member * n),
                                   s.bits.begin() + static_cast<std::ptrdiff_t>((member + 1) * n));
    s.shape.erase(s.shape.begin());
  }
  return one;
}

std::string mapped_problem(const Case& c, const Arrays& in, const Run& eager, Dice& dice) {
  std::vector<bool> mask;
  bool any = false;
  for (const Grid& g : c.operands) {
    mask.push_back(!g.number && !dice.once_in(4));
    any = any || mask.back();
  }
  if (!any) return "";
  // The other member has the same values in another order.
  Arrays other = in;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!mask[i]) continue;
    Grid g = c.operands[i];
    std::rotate(g.at.begin(), g.at.begin() + (g.at.size() > 1 ? 1 : 0), g.at.end());
    other[i] = array_of(g);
  }
  const Run second = run([&] { return c.f(other); });
  Arrays stacked;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (mask[i]) stacked.push_back(ts::stack({in[i], other[i]}));
  const auto f = of_some(c, in, mask);
  const Run both = run([&] { return ts::vmap(f)(stacked); });
  std::string wrong = agree(member_of(both, 0), eager, "mapped, member 0");
  return wrong.empty() ? agree(member_of(both, 1), second, "mapped, member 1") : wrong;
}

}  // namespace

std::string problem(const Case& c, Dice& dice) {
  std::string story = c.call;
  const char* names[] = {"x", "y", "z", "u", "v"};
  for (std::size_t i = 0; i < c.operands.size(); ++i)
    story += std::string("\n  ") + names[i] + " = " + text(c.operands[i]);
  const auto tell = [&](const std::string& wrong) { return story + "\n  " + wrong; };
  Arrays in;
  for (const Grid& g : c.operands) in.push_back(array_of(g, g.number ? dice.below(11) : 0));
  const Run eager = run([&] { return c.f(in); });
  if (c.refused != eager.refused || (c.refused == Refusal::none && !eager.error.empty()))
    return tell(std::string("expected ") + name_of(c.refused) + ", got " +
                (eager.error.empty() ? "a result" : eager.error));
  if (c.refused == Refusal::none)
    for (std::size_t k = 0; k < c.expected.size(); ++k)
      if (std::string wrong = against(eager.results[k], c.expected[k]); !wrong.empty())
        return tell("result " + std::to_string(k) + ": " + wrong);
  // Numbers are arguments, or captured.
  std::vector<bool> mask;
  const bool capture = c.captures || dice.toss();
  for (const Grid& g : c.operands) mask.push_back(!(g.number && capture));
  const Run jitted = run([&] { return ts::jit(of_some(c, in, mask))(picked(in, mask)); });
  if (std::string wrong = agree(jitted, eager, capture ? "jitted with captured numbers" : "jitted");
      !wrong.empty())
    return tell(wrong);
  if (c.maps)
    if (std::string wrong = mapped_problem(c, in, eager, dice); !wrong.empty()) return tell(wrong);
  return "";
}

Wide draw_value(Dice& dice, DType d) { return dice.of(edges_of(d)); }

Grid draw_number(Dice& dice, DType d) {
  if (dice.below(3) != 2) return number(draw_value(dice, d));
  return number(draw_value(dice, draw_dtype(dice, false)));
}

DType draw_dtype(Dice& dice, bool booleans) {
  const auto n = static_cast<std::int64_t>(all_dtypes().size());
  return all_dtypes()[static_cast<std::size_t>(dice.below(booleans ? n : n - 1))];
}

Shape draw_shape(Dice& dice) {
  static const auto& all = *new std::vector<Shape>{{1}, {}, {3}, {0}, {2, 3}, {33}, {1, 2, 2}};
  return dice.of(all);
}
Shape draw_shape(Dice& dice, int rank) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(dice.of(Ints{1, 2, 3, 0, 5}));
  return s;
}

Grid draw_array(Dice& dice, DType d, const Shape& shape) {
  Grid g = zeros(d, shape);
  const std::vector<Wide>& from = edges_of(d);
  // The first few choices are independent and shrink; the others follow from one.
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < g.at.size(); ++i) {
    if (i < 4) {
      g.at[i] = dice.of(from);
      continue;
    }
    if (i == 4) state = static_cast<std::uint64_t>(dice.below(27720)) + 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    g.at[i] = from[static_cast<std::size_t>(state >> 33) % from.size()];
  }
  return g;
}
Grid draw_array(Dice& dice, bool booleans) {
  const DType d = draw_dtype(dice, booleans);
  return draw_array(dice, d, draw_shape(dice));
}

std::int64_t draw_axis(Dice& dice, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t a = dice.below(rank);
  return dice.once_in(3) ? a - rank : a;
}

}  // namespace integers
