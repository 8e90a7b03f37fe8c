// Prefix combinations by an associative function, written with slices in logarithmic depth.
#pragma once

#include "ir/op.h"

#include <functional>

namespace tessera::inline v0::ops {

/// Combines two lists of arrays elementwise; `left` holds the earlier elements.
using CombineValues = std::function<Values(const Values& left, const Values& right)>;

/// All prefixes of `elements` along `axis` (suffixes if `reverse`), by recursive halving:
/// neighbours are combined, the result is scanned, and the positions between are filled in.
/// `combine` must be associative. The order of combination is that of JAX's associative_scan, so
/// ties in cummax split their derivative the same way.
Values associative_scan(const CombineValues& combine, Values elements, int axis, bool reverse);

}  // namespace tessera::inline v0::ops
