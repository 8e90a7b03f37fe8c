// The collectives on host arrays, from their definitions.
#pragma once

#include "ir/host_array.h"
#include "ir/op.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// The results of one collective: `x[k]` is the block of member k of the flattened axes.
std::vector<HostArray> collective(const Op& op, const Attrs& attrs,
                                  const std::vector<HostArray>& x);

}  // namespace tessera::inline v0::spmd
