// Manual (per-device) computations in the form of XLA's older partitioner.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// Whether the block has custom calls that convert from values of the devices to one array.
bool has_manual_parts(const RegionSyntax& region);

/// The block with the operations between @SPMDFullToShardShape and @SPMDShardToFullShape moved into
/// a sdy.manual_computation (allocated in `memory`), whose shardings are texts. Its manual_axes is
/// also a text: the sharding that says what is manual. Throws IoError if the block does not say
/// which device has which shard.
RegionSyntax with_manual_computations(const RegionSyntax& region, const Source& source,
                                      Memory& memory);

}  // namespace tessera::inline v0::stablehlo
