// Differences, integrals and interpolation under NumPy's names.
#pragma once

#include <tessera/array.h>

#include <vector>

namespace tessera::inline v0 {

/// The options of diff: it is applied `n` times along `axis`, after `prepend` and `append` are put
/// before and after x.
struct DiffOptions {
  detail::Named named = detail::Named();
  std::int64_t n = 1;
  std::int64_t axis = -1;
  std::optional<Array> prepend = {}, append = {};
};
/// The difference of each element and the one before it along an axis, repeated n times; for
/// booleans, whether they differ. `prepend` and `append`, scalars or arrays, are concatenated to x
/// first. Throws ShapeError for a negative n and for a scalar.
TESSERA_API Array diff(Operand x, const DiffOptions& options = {});
/// The options of ediff1d: `to_begin` and `to_end` are put before and after the differences.
struct Ediff1dOptions {
  detail::Named named = detail::Named();
  std::optional<Array> to_end = {}, to_begin = {};
};
/// The differences of the flattened array, with `to_begin` before and `to_end` after them.
TESSERA_API Array ediff1d(Operand x, const Ediff1dOptions& options = {});

/// The options of gradient: `axis` (by default all axes), and the `spacing` of the samples, one
/// number for all axes or one for each (by default 1).
struct GradientOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  std::vector<double> spacing = {};
};
/// Central differences along each of the axes, one-sided at the ends, in floats: one array per
/// axis. `spacing` is the distance between neighbours, one number for all axes or one per axis.
/// Throws ShapeError for an axis of fewer than two elements, and for another number of distances.
TESSERA_API std::vector<Array> gradient(Operand x, const GradientOptions& options = {});

/// The options of trapezoid: the positions `x` of the samples or else their distance `dx`, and the
/// axis.
struct TrapezoidOptions {
  detail::Named named = detail::Named();
  std::optional<Array> x = {};
  double dx = 1;
  std::int64_t axis = -1;
};
/// The integral along an axis by the trapezoidal rule, in floats. The samples are at `x`, or `dx`
/// apart.
TESSERA_API Array trapezoid(Operand y, const TrapezoidOptions& options = {});

/// The options of interp: the results left and right of the data (by default the first and last
/// value), or the period of the positions.
struct InterpOptions {
  detail::Named named = detail::Named();
  std::optional<Array> left = {}, right = {};
  std::optional<double> period = {};
};
/// Evaluates at x the piecewise linear function through the points (xp, fp), with xp ascending, in
/// floats. Outside of xp the value is `left` or `right`, by default the first or last of fp. With a
/// `period` the points wrap around and may be in any order. Throws ShapeError unless xp and fp are
/// non-empty vectors of the same length.
TESSERA_API Array interp(Operand x, Operand xp, Operand fp, const InterpOptions& options = {});

/// log(cumsum(exp(x))) along an axis without overflow, in floats; with `reverse` it starts from the
/// last element.
TESSERA_API Array cumlogsumexp(Operand x, std::int64_t axis = 0, bool reverse = false);

/// The options of unwrap: the `period`, the jump `discont` that counts as a discontinuity (by
/// default half of the period), and the `axis`.
struct UnwrapOptions {
  detail::Named named = detail::Named();
  std::optional<double> discont = {};
  std::int64_t axis = -1;
  double period = 6.283185307179586;
};
/// Removes jumps from angles along an axis, in floats: if neighbours differ by more than `discont`
/// (by default half a period), whole periods are added to bring them within half a period.
TESSERA_API Array unwrap(Operand x, const UnwrapOptions& options = {});

}  // namespace tessera::inline v0
