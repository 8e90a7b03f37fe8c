// Slices of arrays, and copies of one array along a new axis.
#pragma once

#include "api/trace/composite.h"

namespace tessera::inline v0::detail {

/// x from `start` up to `limit` along one axis; the other axes are kept whole.
Value slice_axis(Value x, int axis, std::int64_t start, std::int64_t limit);

/// Throws ShapeError if a function would return more arrays than any program can use: each is an
/// operation of its own.
void need_few_parts(const char* function, std::int64_t parts, const SourceLoc& loc);

/// Outside traces, a stack of `n` copies of one array along a new first axis that stores the values
/// once; models are replicated over devices this way. Returns an empty array if this does not
/// apply.
Array stacked_once(const Array& x, std::int64_t n);

}  // namespace tessera::inline v0::detail
