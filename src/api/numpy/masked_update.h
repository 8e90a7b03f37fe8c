// Updates of the elements that a mask selects: x.at(mask).set(v).
#pragma once

#include <tessera/array.h>

#include "ir/builder.h"

namespace tessera::inline v0::detail {

/// Whether an index consists of one boolean array.
bool is_mask(const std::vector<AxisIndex>& index);

/// x where the mask is false, and `combine(x, values)` where it is true (`values` if `combine` is
/// null). The mask has the shape of the leading axes of x. How many elements it selects is unknown,
/// so all get the same values, which broadcast to the remaining axes.
Array masked_update(const char* name, const Array& x, const Array& mask, const Operand& values,
                    double identity, Value (*combine)(Value, Value));

}  // namespace tessera::inline v0::detail
