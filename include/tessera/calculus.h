// Differences, integrals and interpolation, as NumPy has them.
#pragma once

#include <tessera/array.h>

#include <vector>

namespace tessera::inline v0 {

struct DiffOptions {
  detail::Named named = detail::Named();
  std::int64_t n = 1;
  std::int64_t axis = -1;
  std::optional<Array> prepend = {}, append = {};
};
/// Each element less the one before it along an axis, n times over; of booleans whether they
/// differ. `prepend` and `append`, scalars or arrays, are joined to x first. ShapeError for a
/// negative n and of a scalar.
TESSERA_API Array diff(Operand x, const DiffOptions& options = {});
struct Ediff1dOptions {
  detail::Named named = detail::Named();
  std::optional<Array> to_end = {}, to_begin = {};
};
/// The differences of the flattened array, between `to_begin` and `to_end`.
TESSERA_API Array ediff1d(Operand x, const Ediff1dOptions& options = {});

struct GradientOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  std::vector<double> spacing = {};
};
/// Central differences along each axis (those named), one-sided at the ends, in floats: an array an
/// axis. `spacing` is the distance of neighbours, one for all axes or one for each. ShapeError for
/// an axis of less than two elements and another number of distances.
TESSERA_API std::vector<Array> gradient(Operand x, const GradientOptions& options = {});

struct TrapezoidOptions {
  detail::Named named = detail::Named();
  std::optional<Array> x = {};
  double dx = 1;
  std::int64_t axis = -1;
};
/// The integral along an axis by the trapezoidal rule, in floats: of samples at `x`, or `dx` apart.
TESSERA_API Array trapezoid(Operand y, const TrapezoidOptions& options = {});

struct InterpOptions {
  detail::Named named = detail::Named();
  std::optional<Array> left = {}, right = {};
  std::optional<double> period = {};
};
/// The value at x of the piecewise linear function through (xp, fp), vectors, xp ascending, in
/// floats. Below and above them `left` and `right`, else the first and the last of fp; with a
/// `period` the points go around, in any order. ShapeError unless xp and fp are vectors of one
/// length, 1 or more.
TESSERA_API Array interp(Operand x, Operand xp, Operand fp, const InterpOptions& options = {});

/// log(cumsum(exp(x))) along an axis without overflow, from the last element on with `reverse`; in
/// floats.
TESSERA_API Array cumlogsumexp(Operand x, std::int64_t axis = 0, bool reverse = false);

struct UnwrapOptions {
  detail::Named named = detail::Named();
  std::optional<double> discont = {};
  std::int64_t axis = -1;
  double period = 6.283185307179586;
};
/// Angles along an axis without jumps: neighbours that differ by more than `discont` (half a
/// period) are brought within half a period, by whole ones, in floats.
TESSERA_API Array unwrap(Operand x, const UnwrapOptions& options = {});

}  // namespace tessera::inline v0
