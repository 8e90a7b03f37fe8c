// Scatters by a body.
#pragma once

#include "ops/body.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// Arrays of one shape, each changed at `places` along the last dimension, integers, one after the
/// other: with the elements of `updates`, which lie as the places do, the body (old..., updates...)
/// gives the new elements. A place outside is passed over. {body: program}
Values combine_at(std::span<const Value> xs, Value places, std::span<const Value> updates,
                  const ProgramPtr& body);

/// StableHLO's scatter of any region, with its operands and updates: (old..., updates...) gives the
/// new elements, in the row-major order of the updates.
Values scatter_by(std::span<const Value> xs, Value indices, std::span<const Value> updates,
                  const ScatterDims& dims, const ProgramPtr& body,
                  const std::string& mode = "drop");

}  // namespace tessera::inline v0::ops
