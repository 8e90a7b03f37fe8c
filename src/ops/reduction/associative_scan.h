// Prefixes of an associative combination, written with slices in logarithmic depth.
#pragma once

#include "ir/op.h"

#include <functional>

namespace tessera::inline v0::ops {

/// Combines two lists of arrays elementwise; the left one holds the earlier elements.
using CombineValues = std::function<Values(const Values& left, const Values& right)>;

/// All prefixes of `elements` along `axis` (suffixes where `reverse`), by recursive halving:
/// neighbours are combined, the halves scanned, and the places between filled in. `combine` is
/// associative; the order of combination is that of JAX's associative_scan, so that ties in cummax
/// split their derivative the same way.
Values associative_scan(const CombineValues& combine, Values elements, int axis, bool reverse);

}  // namespace tessera::inline v0::ops
