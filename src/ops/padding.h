// Parts of dimensions that devices do not divide. All are as long as the first; what the last ones
// hold behind the end of the whole is anything, NaN and all, and is not to change what is not.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0::ops {

inline std::int64_t part_extent(std::int64_t extent, std::int64_t parts) {
  return (extent + parts - 1) / parts;
}

/// Replaces what this device's part of a dimension of `extent` elements holds behind them by
/// `fill`, a scalar; `axes` number the `parts`. The part itself where they divide the extent.
Value filled_behind(Value part, int dim, std::int64_t extent, const Strings& axes,
                    std::int64_t parts, const Literal& fill);

}  // namespace tessera::inline v0::ops
