// A drawn case of float64 with constants that are not float32 numbers, its oracle in long double,
// and the ways to run it.
#pragma once

#include "ops/dice.h"

#include <tessera/tessera.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace doubles {

namespace ts = tessera;
using ts::Array;
using ts::Shape;
using walk::Dice;
using Long = long double;
using Longs = std::vector<Long>;
using Arrays = std::vector<Array>;

/// An operand: doubles, stored as long doubles so that the oracle can be evaluated near them.
struct Reals {
  Shape shape;
  Longs at;
  bool number = false;  // a bare C++ double

  std::size_t size() const { return at.size(); }
  Long operator[](std::size_t i) const { return at[i]; }
  /// Row-major, of a matrix.
  Long operator()(std::size_t i, std::size_t j) const {
    return at[i * static_cast<std::size_t>(shape[1]) + j];
  }
};
using Operands = std::vector<Reals>;

struct Case {
  std::string call;  // as it is written; x, y, z, ... are the operands
  Operands operands;
  std::function<Array(const Arrays&)> f;
  std::function<Longs(const Operands&)> oracle;
  /// The size of terms that cancel inside, whose rounding errors remain however small the result
  /// is.
  Long terms = 0;
  /// Whether derivatives are compared with finite differences of the oracle.
  bool smooth = true;
  /// Whether the array operands may be stacked and the function mapped over them.
  bool maps = true;
};

/// A public function, or one way to call it, and how its cases are drawn.
struct Row {
  std::string name;  // as in the headers: "add", "operator+", "nn::elu", "At::set"
  std::function<Case(Dice&)> draw;
};

std::vector<Row> elementwise_rows();
std::vector<Row> special_rows();
std::vector<Row> maker_rows();
std::vector<Row> position_rows();
std::vector<Row> reduction_rows();
std::vector<Row> series_rows();
std::vector<Row> activation_rows();
std::vector<Row> loss_rows();
std::vector<Row> network_rows();
std::vector<Row> training_rows();
std::vector<Row> program_rows();

/// Describes an error in how the case runs, or returns an empty text.
std::string problem(const Case& c, Dice& dice);

// --- draws

/// A double in the range that is not a float32 number.
double draw_double(Dice& dice, double low, double high);
Shape draw_shape(Dice& dice);
Reals draw_reals(Dice& dice, const Shape& shape, double low, double high);
/// An operand that is an array or, in one of three cases, a number.
Reals draw_operand(Dice& dice, const Shape& shape, double low, double high);
inline Reals number(double v) { return {{}, {v}, true}; }

// --- building blocks of oracles

/// f of each element.
template <class F>
Longs each(const Reals& x, F&& f) {
  Longs out;
  for (Long v : x.at) out.push_back(f(v));
  return out;
}
/// f of the elements of both operands, either of which may be a number.
template <class F>
Longs each(const Reals& x, const Reals& y, F&& f) {
  Longs out;
  for (std::size_t i = 0; i < std::max(x.size(), y.size()); ++i)
    out.push_back(f(x[x.number ? 0 : i], y[y.number ? 0 : i]));
  return out;
}
/// f of each row of a matrix, or of an array with one axis.
template <class F>
Longs each_row(const Reals& x, F&& f) {
  const std::size_t n = static_cast<std::size_t>(x.shape[x.shape.size() - 1]);
  Longs out;
  for (std::size_t i = 0; i < x.size(); i += n) {
    const Longs row(x.at.begin() + static_cast<std::ptrdiff_t>(i),
                    x.at.begin() + static_cast<std::ptrdiff_t>(i + n));
    for (Long v : f(row)) out.push_back(v);
  }
  return out;
}
inline Long sum_of(const Longs& x) {
  Long s = 0;
  for (Long v : x) s += v;
  return s;
}
inline Long mean_of(const Longs& x) { return sum_of(x) / static_cast<Long>(x.size()); }
inline Long sigmoid(Long x) { return 1 / (1 + std::exp(-x)); }
inline Long softplus(Long x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
/// The log softmax of one row.
Longs log_softmax(const Longs& row);
Longs softmax(const Longs& row);
/// Normalises the elements `at` of `x` to mean 0, or keeps their mean, and to mean square 1.
void normalise(Longs& x, const std::vector<std::size_t>& at, Long epsilon, bool centered = true);
/// Computed by Newton's method, for numbers that are not near 1.
Long erf_inv(Long x);
constexpr Long kPi = 3.14159265358979323846264338327950288L;

std::string text(double v);

}  // namespace doubles
