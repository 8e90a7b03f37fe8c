// Sorting by a comparator.
#pragma once

#include "ops/body.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// Sorts arrays of one shape together and returns, for each row along `dimension`, the int32
/// indices from which its elements come. The sort is stable. The comparator (a of x0, b of x0, a of
/// x1, ...) returns whether a comes before b. {comparator: program, dimension: integer}
Value order_by(std::span<const Value> xs, const ProgramPtr& comparator, int dimension);
/// StableHLO's sort: the arrays in that order.
Values sort_by(std::span<const Value> xs, const ProgramPtr& comparator, int dimension);

}  // namespace tessera::inline v0::ops
