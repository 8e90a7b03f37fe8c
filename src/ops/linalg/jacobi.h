// Jacobi rotations of many pairs of rows and columns at once.
//
// Rows and columns are in two halves, and column i of the first half is paired with column i of the
// second. After each step all columns but the first move on by one place along a ring through both
// halves, so that in n - 1 steps each of the n columns is paired with each other one once (the
// round-robin ordering).
#pragma once

#include "ops/build.h"

#include <functional>

namespace tessera::inline v0::ops {

/// By pair: J = [[c, s], [-conj(s), c]].
struct PairRotations {
  Value c, s;  // c is real, s has the matrix's dtype
};
/// The rotations J for which J^H [[p, r], [conj(r), q]] J is diagonal; p and q are real.
PairRotations rotations_of(Value p, Value q, Value r);

/// X J: the pairs of columns of X, or J^H X: the pairs of rows.
Value columns_rotated(Value x, const PairRotations& j);
Value rows_rotated(Value x, const PairRotations& j);
/// The columns (rows) permuted for the next step.
Value columns_moved(Value x);
Value rows_moved(Value x);

/// Repeats sweeps of `steps` steps while `worst`, one number per matrix, is above `enough` for some
/// matrix, but at most kSweeps times. step(state, worst) makes a step: it replaces the values of
/// the state, and `worst` by what has been seen since the sweep began.
inline constexpr int kSweeps = 40;
using Step = std::function<void(Values& state, Value& worst)>;
/// `last(state, worst)` gives the measure at the end of a sweep.
Values swept(Values state, Value like_worst, std::int64_t steps, double enough, const Step& step,
             const std::function<Value(const Values& state, Value worst)>& last);

/// The rounding unit of the dtype's reals.
double rounding_unit(DType dtype);

}  // namespace tessera::inline v0::ops
