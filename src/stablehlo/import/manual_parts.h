// Manual (per-device) computations in the form of XLA's older partitioner.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// Whether the block has custom calls that convert from per-device values to one array.
bool has_manual_parts(const RegionSyntax& region);

/// The block with the operations between @SPMDFullToShardShape and @SPMDShardToFullShape moved into
/// a sdy.manual_computation (allocated in `memory`), whose shardings are texts. Its manual_axes is
/// also a text: the sharding that lists the manual axes. Throws IoError if the block does not
/// specify which device has which shard.
RegionSyntax with_manual_computations(const RegionSyntax& region, const Source& source,
                                      Memory& memory);

}  // namespace tessera::inline v0::stablehlo
