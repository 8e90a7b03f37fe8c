// Scatters that combine elements with a body.
#pragma once

#include "ops/body.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// Updates arrays of one shape at integer `places` along the last dimension, one after another: the
/// body (old..., updates...) returns the new elements. `updates` have the shape of `places`. Places
/// out of bounds are skipped. {body: program}
Values combine_at(std::span<const Value> xs, Value places, std::span<const Value> updates,
                  const ProgramPtr& body);

/// StableHLO's scatter with an arbitrary region and any number of operands: the body (old...,
/// updates...) returns the new elements. Updates are applied in row-major order.
Values scatter_by(std::span<const Value> xs, Value indices, std::span<const Value> updates,
                  const ScatterDims& dims, const ProgramPtr& body,
                  const std::string& mode = "drop");

}  // namespace tessera::inline v0::ops
