// Sorting by a comparator.
#pragma once

#include "ops/body.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// Where the elements of each row along `dimension` come from when arrays of one shape are sorted
/// together, int32: stable, by a comparator (a of x0, b of x0, a of x1, ...) that says whether a
/// comes before b. {comparator: program, dimension: integer}
Value order_by(std::span<const Value> xs, const ProgramPtr& comparator, int dimension);
/// StableHLO's sort: the arrays in that order.
Values sort_by(std::span<const Value> xs, const ProgramPtr& comparator, int dimension);

}  // namespace tessera::inline v0::ops
