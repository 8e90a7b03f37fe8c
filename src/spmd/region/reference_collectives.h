// Evaluates collectives on host arrays, straight from their definitions.
#pragma once

#include "ir/host_array.h"
#include "ir/op.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// The results of one collective, by member. `x[k]` is the block of member k of the flattened axes.
std::vector<HostArray> collective(const Op& op, const Attrs& attrs,
                                  const std::vector<HostArray>& x);

/// For each member, the bytes received from the others. Blocks are sent directly from each member
/// to each other. Reductions run as a ring: a member receives one part from each other member, and
/// for a full sum all other parts once more.
std::vector<std::int64_t> received(const Op& op, const Attrs& attrs,
                                   const std::vector<HostArray>& x);

}  // namespace tessera::inline v0::spmd
