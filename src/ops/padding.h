// Shards of dimensions that the number of devices does not divide. All shards have the extent of
// the first. The padding at the end of the last shards is arbitrary, even NaN, and must not affect
// real elements.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0::ops {

inline std::int64_t part_extent(std::int64_t extent, std::int64_t parts) {
  return (extent + parts - 1) / parts;
}

/// Replaces the padding in this device's shard of a dimension of `extent` elements by `fill`, a
/// scalar; `axes` number the `parts`. Returns the shard unchanged if they divide the extent.
Value filled_behind(Value part, int dim, std::int64_t extent, const Strings& axes,
                    std::int64_t parts, const Literal& fill);

}  // namespace tessera::inline v0::ops
