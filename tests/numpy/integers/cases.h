// A drawn case, and the ways to run it: eagerly against the oracle; jitted and mapped against the
// eager run, bit for bit.
#pragma once

#include "numpy/integers/wide.h"
#include "ops/dice.h"

#include <functional>
#include <optional>

namespace integers {

using walk::Dice;
using Arrays = std::vector<Array>;
using Ints = std::vector<std::int64_t>;

/// The expected result of a call: exact integers, the bits of another array, or reals between
/// bounds.
struct Expected {
  std::optional<Grid> exact;
  std::optional<Array> same;  // except for weakness
  Shape shape;
  DType dtype = ts::f32;
  std::vector<long double> low, high;
};
inline Expected exactly(Grid g) { return {std::move(g), {}, {}, {}, {}, {}}; }
inline Expected exactly(DType d, const Shape& s, std::vector<Wide> at, bool weak = false) {
  return exactly(Grid{d, s, std::move(at), false, weak});
}
inline Expected bits_of_array(Array a) { return {{}, std::move(a), {}, {}, {}, {}}; }

enum class Refusal { none, dtype, shape };

struct Case {
  std::string call;  // as it is written; x, y, ... are the operands
  std::vector<Grid> operands;
  std::function<Arrays(const Arrays&)> f;
  std::vector<Expected> expected;
  Refusal refused = Refusal::none;
  /// Whether the operands may be stacked and the function mapped over them.
  bool maps = true;
  /// Whether numbers must be constants in traces too, because the function reads their values.
  bool captures = false;
};

/// A public function, or an overload of one, and how cases of it are drawn.
struct Row {
  std::string name;  // as in the headers: "add", "operator+", "Array::sum", "At::set"
  std::function<Case(Dice&)> draw;
};

std::vector<Row> unary_rows();
std::vector<Row> binary_rows();
std::vector<Row> choice_rows();
std::vector<Row> reduction_rows();
std::vector<Row> contraction_rows();
std::vector<Row> movement_rows();
std::vector<Row> position_rows();
std::vector<Row> maker_rows();
std::vector<Row> random_rows();
std::vector<Row> control_rows();
std::vector<Row> network_rows();

/// Describes an error in how the case runs, or returns an empty text.
std::string problem(const Case& c, Dice& dice);

// --- draws

/// A value of `d`: its limits, powers of two and their neighbours, small numbers.
Wide draw_value(Dice& dice, DType d);
/// A bare number, which may be just out of the range of `d`.
Grid draw_number(Dice& dice, DType d);
DType draw_dtype(Dice& dice, bool booleans = true);
Shape draw_shape(Dice& dice);
Shape draw_shape(Dice& dice, int rank);
Grid draw_array(Dice& dice, DType d, const Shape& shape);
Grid draw_array(Dice& dice, bool booleans = true);
/// An axis, counted from either end.
std::int64_t draw_axis(Dice& dice, const Shape& shape);
inline std::size_t axis_at(std::int64_t axis, const Shape& s) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(s.size()) : axis);
}

}  // namespace integers
