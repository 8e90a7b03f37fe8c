// Updates of what a mask picks: x.at(mask).set(v).
#pragma once

#include <tessera/array.h>

#include "ir/builder.h"

namespace tessera::inline v0::detail {

/// Whether an index is one boolean array.
bool is_mask(const std::vector<AxisIndex>& index);

/// x where the mask is false, `combine(x, values)` where it is true (`values` themselves without
/// one). The mask has the shape of the first axes of x; the values, whose number it does not tell,
/// are the same for all places: they broadcast to the axes that follow.
Array masked_update(const char* name, const Array& x, const Array& mask, const Operand& values,
                    double identity, Value (*combine)(Value, Value));

}  // namespace tessera::inline v0::detail
