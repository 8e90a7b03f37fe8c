#include <tessera/nn/initializers.h>

#include "nn/checks.h"

#include <tessera/creation.h>
#include <tessera/distributions.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/random.h>

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::nn {

namespace {

void need_fractions(const char* name, const Shape& shape, DType dtype, const SourceLoc& loc) {
  if (!is_floating(dtype))
    Message(name)
        .problem("the dtype is " + std::string(name_of(dtype)))
        .rule("parameters are fractions, which only floats hold")
        .from(loc)
        .advice("ts::f32")
        .raise<DTypeError>();
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; }))
    Message(name)
        .problem("the shape is " + to_string(shape))
        .rule("extents are 0 or more")
        .from(loc)
        .advice("check the arithmetic that gave the negative one")
        .raise<ShapeError>();
}

}  // namespace

Array VarianceScaling::operator()(const Array& key, const Shape& shape, DType dtype,
                                  std::source_location loc) const {
  const InFunction called("VarianceScaling", loc);
  double receptive = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i)
    receptive *= static_cast<double>(shape[static_cast<std::size_t>(i)]);
  double fan_in = shape.rank() >= 2 ? static_cast<double>(shape[shape.size() - 2]) * receptive
                                    : static_cast<double>(shape.count());
  double fan_out = shape.rank() >= 2 ? static_cast<double>(shape[shape.size() - 1]) * receptive
                                     : static_cast<double>(shape.count());
  double n = fan == "in" ? fan_in : fan == "out" ? fan_out : (fan_in + fan_out) / 2;
  if (fan != "in" && fan != "out" && fan != "average")
    Message("VarianceScaling")
        .problem("the fan is \"" + fan + "\"")
        .rule("it is \"in\", \"out\" or \"average\"")
        .from(loc)
        .advice("\"in\"")
        .raise<Error>();
  need_key("VarianceScaling", key, loc);
  if (!(scale >= 0 && std::isfinite(scale)))
    Message("VarianceScaling")
        .problem("the scale is " + to_string(Array(scale)))
        .rule("scale / fan is a variance: finite, and 0 or more")
        .from(loc)
        .advice("1.0, or 2.0 for layers before a relu")
        .raise<Error>();
  need_fractions("VarianceScaling", shape, dtype, loc);
  double variance = scale / std::max(1.0, n);
  if (distribution == "normal")
    return random::normal({key, loc}, shape, dtype) * std::sqrt(variance);
  if (distribution == "uniform")
    return random::uniform({key, loc}, shape, dtype, -1.0, 1.0) * std::sqrt(3 * variance);
  if (distribution == "truncated_normal")
    // Divide by the standard deviation of a standard normal truncated to [-2, 2].
    return random::truncated_normal({key, loc}, -2.0, 2.0, shape, dtype) *
           (std::sqrt(variance) / 0.87962566103423978);
  Message("VarianceScaling")
      .problem("the distribution is \"" + distribution + "\"")
      .rule("it is \"normal\", \"truncated_normal\" or \"uniform\"")
      .from(loc)
      .advice("\"truncated_normal\"")
      .raise<Error>();
}

Array Initializer::operator()(const Array& key, const Shape& shape, DType dtype,
                              std::source_location loc) const {
  if (!function_) return scaling_(key, shape, dtype, loc);
  const InFunction called("Initializer", loc);
  need_key("Initializer", key, loc);
  need_fractions("Initializer", shape, dtype, loc);
  Array x = function_(key, shape, dtype);
  need_array("Initializer", "the result", x, loc);
  if (x.shape() != shape || x.dtype() != dtype)
    Message("Initializer")
        .problem("the function gave " + describe(x) + " for " + std::string(name_of(dtype)) +
                 " of shape " + to_string(shape))
        .rule("an initialiser gives the dtype and the shape that it is asked for")
        .from(loc)
        .advice("pass both on: ts::random::normal(key, shape, dtype)")
        .raise<ShapeError>();
  return x;
}

namespace initializers {

VarianceScaling variance_scaling(double scale, const std::string& mode,
                                 const std::string& distribution, std::source_location loc) {
  if (mode != "fan_in" && mode != "fan_out" && mode != "fan_avg")
    Message("variance_scaling")
        .problem("the mode is \"" + mode + "\"")
        .rule("it is \"fan_in\", \"fan_out\" or \"fan_avg\"")
        .from(loc)
        .advice("\"fan_in\"")
        .raise<Error>();
  return {scale, mode == "fan_avg" ? "average" : mode.substr(4), distribution};
}

Initializer constant(double value) {
  return Initializer(
      [value](const Array&, const Shape& shape, DType dtype) { return full(shape, value, dtype); });
}
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }

Initializer normal(double stddev, std::source_location loc) {
  need_number("initializers::normal", "stddev", stddev, 0, HUGE_VAL, "0.01 is usual", loc);
  return Initializer([stddev](const Array& key, const Shape& shape, DType dtype) {
    return random::normal(key, shape, dtype) * stddev;
  });
}

Initializer uniform(double scale, std::source_location loc) {
  need_number("initializers::uniform", "scale", scale, 0, HUGE_VAL, "0.01 is usual", loc);
  return Initializer([scale](const Array& key, const Shape& shape, DType dtype) {
    return random::uniform(key, shape, dtype) * scale;
  });
}

Initializer truncated_normal(double stddev, double lower, double upper, std::source_location loc) {
  need_number("initializers::truncated_normal", "stddev", stddev, 0, HUGE_VAL, "0.01 is usual",
              loc);
  if (!(lower < upper))
    Message("initializers::truncated_normal")
        .problem("there is no number between " + to_string(Array(lower)) + " and " +
                 to_string(Array(upper)))
        .rule("the lower bound is less than the upper one")
        .from(loc)
        .advice("truncated_normal(0.01) cuts at -2 and 2 standard deviations")
        .raise<Error>();
  return Initializer([=](const Array& key, const Shape& shape, DType dtype) {
    return random::truncated_normal(key, lower, upper, shape, dtype) * stddev;
  });
}

namespace {

Array orthogonal_of(const Array& key, const Shape& shape, DType dtype, double scale,
                    int column_axis) {
  const int rank = shape.rank(), axis = column_axis < 0 ? column_axis + rank : column_axis;
  if (rank < 2 || axis < 0 || axis >= rank)
    Message("initializers::orthogonal")
        .problem("the shape is " + to_string(shape) + ", the axis of columns " +
                 std::to_string(column_axis))
        .rule("one of two axes or more is that of the matrix's columns")
        .advice("vectors are not orthogonal: nn::initializers::normal()")
        .raise<ShapeError>();
  if (shape.count() == 0) return zeros(shape, dtype);
  Shape turned = shape;
  const std::int64_t columns = shape[static_cast<std::size_t>(axis)];
  turned.erase(turned.begin() + axis);
  turned.push_back(columns);
  const Array q = random::orthogonal(key, shape.count() / columns, {}, dtype, columns);
  return moveaxis(q.reshape(turned), -1, axis) * scale;
}

}  // namespace

Initializer orthogonal(double scale, int column_axis, std::source_location loc) {
  need_number("initializers::orthogonal", "scale", scale, 0, HUGE_VAL, "1.0 is usual", loc);
  return Initializer([=](const Array& key, const Shape& shape, DType dtype) {
    return orthogonal_of(key, shape, dtype, scale, column_axis);
  });
}

Initializer delta_orthogonal(double scale, int column_axis, std::source_location loc) {
  need_number("initializers::delta_orthogonal", "scale", scale, 0, HUGE_VAL, "1.0 is usual", loc);
  return Initializer([=](const Array& key, const Shape& shape, DType dtype) {
    const int window = shape.rank() - 2;
    if (window < 1 || window > 3 || shape[shape.size() - 1] < shape[shape.size() - 2])
      Message("initializers::delta_orthogonal")
          .problem("the shape is " + to_string(shape))
          .rule("one to three axes of a window, then no more inputs than there are outputs")
          .advice("nn::initializers::orthogonal() takes all shapes of two axes or more")
          .raise<ShapeError>();
    const Shape matrix(shape.end() - 2, shape.end());
    const Array q = orthogonal_of(key, matrix, dtype, scale, column_axis);
    if (shape.count() == 0) return zeros(shape, dtype);
    std::vector<std::pair<std::int64_t, std::int64_t>> around;
    Shape one = matrix;
    for (int i = 0; i < window; ++i) {
      const std::int64_t n = shape[static_cast<std::size_t>(i)], before = (n - 1) / 2;
      around.push_back({before, n - 1 - before});
      one.insert(one.begin(), 1);
    }
    around.insert(around.end(), 2, {0, 0});
    return pad(q.reshape(one), around);
  });
}

}  // namespace initializers
}  // namespace tessera::inline v0::nn
