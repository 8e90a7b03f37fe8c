#include "numpy/doubles/cases.h"

#include <algorithm>
#include <cstdio>

namespace doubles {

namespace {

constexpr Long kUnit = 0x1p-52L;

// The oracle's result, and the error that an exact computation of rounded numbers may have.
struct Wanted {
  Longs values, bounds;
};

// The operands, changed by 2^-40 of themselves, some up and some down.
Operands moved(const Operands& operands, unsigned pattern) {
  Operands all = operands;
  unsigned state = pattern * 2654435761u + 1;
  for (Reals& x : all)
    for (Long& v : x.at) {
      state = state * 1664525u + 1013904223u;
      v *= 1 + (state >> 31 ? 0x1p-40L : -0x1p-40L);
    }
  return all;
}

// The allowed error is eight units of the result and of the terms that the case names, plus the
// change that sixteen rounding errors of every operand cause.
Wanted wanted(const Case& c, const Operands& operands) {
  Wanted w{c.oracle(operands), {}};
  for (Long v : w.values) w.bounds.push_back(8 * kUnit * (std::fabs(v) + c.terms));
  for (unsigned pattern = 0; pattern < 4; ++pattern) {
    const Longs beside = c.oracle(moved(operands, pattern));
    for (std::size_t i = 0; i < w.values.size(); ++i)
      if (std::isfinite(beside[i]) && std::isfinite(w.values[i]))
        w.bounds[i] += 4 * 0x1p-12L * std::fabs(beside[i] - w.values[i]);
  }
  return w;
}

Array array_of(const Reals& x) {
  if (x.number) return Array(static_cast<double>(x.at[0]));
  std::vector<double> values;
  for (Long v : x.at) values.push_back(static_cast<double>(v));
  return Array(values).reshape(x.shape);
}
Arrays arrays_of(const Operands& operands) {
  Arrays all;
  for (const Reals& x : operands) all.push_back(array_of(x));
  return all;
}

std::string against(const std::vector<double>& got, const Wanted& w) {
  if (got.size() != w.values.size())
    return "has " + std::to_string(got.size()) + " elements for " + std::to_string(w.values.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Long want = w.values[i];
    if (std::isnan(want) ? std::isnan(got[i]) : got[i] == static_cast<double>(want)) continue;
    const Long off = std::fabs(static_cast<Long>(got[i]) - want);
    if (off <= w.bounds[i]) continue;
    return "element " + std::to_string(i) + " is " + text(got[i]) + ", expected " +
           text(static_cast<double>(want)) + ", off by " + text(static_cast<double>(off)) +
           " where " + text(static_cast<double>(w.bounds[i])) + " is allowed";
  }
  return "";
}
std::string against(const Array& got, const Wanted& w) {
  if (got.dtype() != ts::f64) return "is " + ts::describe(got) + ", no float64";
  return against(got.to_vector<double>(), w);
}

// The operands that `mask` names are the arguments; the others are captured.
struct Split {
  std::vector<bool> mask;
  Arrays given;
  std::function<Array(Arrays)> f;
};
Split split(const Case& c, const Arrays& in, bool with_numbers) {
  Split s;
  for (std::size_t i = 0; i < in.size(); ++i) {
    s.mask.push_back(!c.operands[i].number || with_numbers);
    if (s.mask.back()) s.given.push_back(in[i]);
  }
  s.f = [&c, in, mask = s.mask](Arrays some) {
    Arrays all = in;
    for (std::size_t i = 0, next = 0; i < all.size(); ++i)
      if (mask[i]) all[i] = some[next++];
    return c.f(all);
  };
  return s;
}

// The same values in another order, as the second example of a map.
Operands other_example(const Case& c) {
  Operands other = c.operands;
  for (Reals& x : other)
    if (!x.number && x.size() > 1) std::rotate(x.at.begin(), x.at.begin() + 1, x.at.end());
  return other;
}

// Central differences of sixth order, with steps of h.
Long slope(const std::function<Long(Long)>& f, Long x, Long h) {
  return (45 * (f(x + h) - f(x - h)) - 9 * (f(x + 2 * h) - f(x - 2 * h)) +
          (f(x + 3 * h) - f(x - 3 * h))) /
         (60 * h);
}

// The derivative of a weighted sum of the results by each element of the first array. Two steps of
// the difference estimate its error; if they disagree, there is a kink.
std::string derivative_problem(const Case& c, const Arrays& in, const std::vector<double>& values,
                               bool jitted) {
  std::size_t of = 0;
  while (of < c.operands.size() && c.operands[of].number) ++of;
  if (of == c.operands.size() || values.empty()) return "";
  std::vector<double> weights;
  for (std::size_t i = 0; i < values.size(); ++i)
    weights.push_back(0.3 + 0.1 * static_cast<double>(i % 5));
  const auto loss = [&](Array x) {
    Arrays all = in;
    all[of] = x;
    return ts::sum(ts::ravel(c.f(all)) * Array(weights));
  };
  const Array gradient = jitted ? ts::jit(ts::grad(loss))(in[of]) : ts::grad(loss)(in[of]);
  if (gradient.dtype() != ts::f64) return "its derivative is " + ts::describe(gradient);
  const std::vector<double> got = gradient.to_vector<double>();
  Operands at = c.operands;
  Longs slopes, errors;
  Long most = 1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Long x = c.operands[of].at[i], h = 0x1p-10L * std::max<Long>(0x1p-4L, std::fabs(x));
    const auto f = [&](Long v) {
      at[of].at[i] = v;
      const Longs y = c.oracle(at);
      Long s = 0;
      for (std::size_t k = 0; k < y.size(); ++k) s += y[k] * static_cast<Long>(weights[k]);
      at[of].at[i] = x;
      return s;
    };
    slopes.push_back(slope(f, x, h));
    errors.push_back(std::fabs(slopes.back() - slope(f, x, 2 * h)));
    if (std::isfinite(slopes.back())) most = std::max(most, std::fabs(slopes.back()));
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    // The difference is NaN, or there is a kink between its points.
    if (!(errors[i] <= 1e-11L * most)) continue;
    const Long off = std::fabs(static_cast<Long>(got[i]) - slopes[i]),
               bound = 64 * kUnit * (most + c.terms) + 4 * errors[i];
    if (off <= bound) continue;
    return "its derivative in element " + std::to_string(i) + " is " + text(got[i]) +
           ", expected " + text(static_cast<double>(slopes[i])) + ", off by " +
           text(static_cast<double>(off)) + " where " + text(static_cast<double>(bound)) +
           " is allowed";
  }
  return "";
}

std::string mapped_problem(const Case& c, const Arrays& in, int how) {
  const Split s = split(c, in, false);
  if (s.given.empty()) return "";
  const Operands other = other_example(c);
  Arrays stacked;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (s.mask[i]) stacked.push_back(ts::stack({in[i], array_of(other[i])}));
  const auto scanned = [&] {
    return ts::scan([&](Array carry, Arrays x) { return std::pair(carry, s.f(x)); }, Array(0),
                    stacked)
        .second;
  };
  const char* names[] = {"mapped", "in a scan", "mapped over devices"};
  const Array both = how == 0   ? ts::vmap(s.f)(stacked)
                     : how == 1 ? scanned()
                                : ts::pmap(s.f)(stacked);
  std::string wrong = against(both[0], wanted(c, c.operands));
  if (wrong.empty()) wrong = against(both[1], wanted(c, other));
  return wrong.empty() ? "" : std::string(names[how]) + ": " + wrong;
}

std::string run(const Case& c, Dice& dice) {
  const Arrays in = arrays_of(c.operands);
  const Array eager = c.f(in);
  if (std::string wrong = against(eager, wanted(c, c.operands)); !wrong.empty()) return wrong;
  const std::vector<double> values = eager.to_vector<double>();
  const bool with_numbers = dice.toss();
  const Split s = split(c, in, with_numbers);
  const auto same = [&](const Array& got, const std::string& how) {
    if (got.dtype() != ts::f64) return how + " is " + ts::describe(got);
    const std::vector<double> now = got.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!(now[i] == values[i] || (std::isnan(now[i]) && std::isnan(values[i]))))
        return how + ": element " + std::to_string(i) + " is " + text(now[i]) + ", eagerly " +
               text(values[i]);
    return std::string();
  };
  if (std::string wrong =
          same(ts::jit(s.f)(s.given), with_numbers ? "jitted with numbers as arguments" : "jitted");
      !wrong.empty())
    return wrong;
  const std::int64_t mode = dice.below(6);
  if (mode <= 1) return c.smooth ? derivative_problem(c, in, values, mode == 1) : "";
  if (mode == 2) return s.given.empty() ? "" : same(ts::remat(s.f)(s.given), "in a checkpoint");
  return c.maps ? mapped_problem(c, in, static_cast<int>(mode - 3)) : "";
}

}  // namespace

std::string text(double v) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", v);
  return buffer;
}

std::string problem(const Case& c, Dice& dice) {
  std::string wrong;
  try {
    wrong = run(c, dice);
  } catch (const std::exception& e) {
    wrong = std::string("an error: ") + e.what();
  }
  if (wrong.empty()) return "";
  std::string story = c.call;
  const char* names[] = {"x", "y", "z", "u", "v", "w"};
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const Reals& x = c.operands[i];
    story += std::string("\n  ") + names[i % 6] + " = ";
    if (!x.number) story += ts::to_string(x.shape) + " {";
    for (std::size_t k = 0; k < std::min<std::size_t>(x.size(), 12); ++k)
      story += (k ? ", " : "") + text(static_cast<double>(x.at[k]));
    if (!x.number) story += x.size() > 12 ? ", ...}" : "}";
  }
  return story + "\n  " + wrong;
}

Long erf_inv(Long x) {
  Long y = 0;
  for (int i = 0; i < 60; ++i) y -= (std::erf(y) - x) * std::sqrt(kPi) / 2 * std::exp(y * y);
  return y;
}

double draw_double(Dice& dice, double low, double high) {
  return low + (high - low) * static_cast<double>(1 + dice.below(9973)) / 9974;
}

Shape draw_shape(Dice& dice) {
  static const auto& all = *new std::vector<Shape>{{3}, {1}, {5}, {2, 3}, {9}};
  return dice.of(all);
}

Reals draw_reals(Dice& dice, const Shape& shape, double low, double high) {
  Reals x{shape, {}, false};
  // No two elements are equal, even if a tape has shrunk to one number.
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const double beside = (high - low) * std::fmod(0.618 * static_cast<double>(i), 1.0) / 9974;
    x.at.push_back(draw_double(dice, low, high - (high - low) / 9974) + beside);
  }
  return x;
}

Reals draw_operand(Dice& dice, const Shape& shape, double low, double high) {
  return dice.once_in(3) ? number(draw_double(dice, low, high))
                         : draw_reals(dice, shape, low, high);
}

Longs log_softmax(const Longs& row) {
  Long s = 0;
  for (Long v : row) s += std::exp(v);
  Longs out = row;
  for (Long& v : out) v -= std::log(s);
  return out;
}
Longs softmax(const Longs& row) {
  Longs out = log_softmax(row);
  for (Long& v : out) v = std::exp(v);
  return out;
}

void normalise(Longs& x, const std::vector<std::size_t>& at, Long epsilon, bool centered) {
  Long m = 0, v = 0;
  const auto n = static_cast<Long>(at.size());
  for (std::size_t i : at) m += centered ? x[i] / n : 0;
  for (std::size_t i : at) v += (x[i] - m) * (x[i] - m) / n;
  for (std::size_t i : at) x[i] = (x[i] - m) / std::sqrt(v + epsilon);
}

}  // namespace doubles
