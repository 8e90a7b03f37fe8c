// Programs for each device in the form of XLA's older partitioner.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// Whether custom calls in the block say that values of the devices become one array.
bool has_manual_parts(const RegionSyntax& region);

/// The block with what stands between @SPMDFullToShardShape and @SPMDShardToFullShape in a
/// sdy.manual_computation whose shardings are texts, made in `memory`; its manual_axes is one too, of
/// what is a device's own along these. IoError where it does not say which part is whose.
RegionSyntax with_manual_computations(const RegionSyntax& region, const Source& source,
                                      Memory& memory);

}  // namespace tessera::inline v0::stablehlo
