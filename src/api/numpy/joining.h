// Parts of arrays, and one array many times.
#pragma once

#include "api/trace/composite.h"

namespace tessera::inline v0::detail {

/// x from `start` up to `limit` along one axis, whole along the others.
Value slice_axis(Value x, int axis, std::int64_t start, std::int64_t limit);

/// ShapeError where a function is to give more arrays than any program has use for: each is an
/// operation of its own.
void need_few_parts(const char* function, std::int64_t parts, const SourceLoc& loc);

/// Outside traces, `n` times one array along a new first axis, stored once: how models are
/// replicated over devices. Empty where that does not apply.
Array stacked_once(const Array& x, std::int64_t n);

}  // namespace tessera::inline v0::detail
