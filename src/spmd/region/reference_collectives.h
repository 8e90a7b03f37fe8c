// The collectives on host arrays, from their definitions.
#pragma once

#include "ir/host_array.h"
#include "ir/op.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// The results of one collective: `x[k]` is the block of member k of the flattened axes.
std::vector<HostArray> collective(const Op& op, const Attrs& attrs,
                                  const std::vector<HostArray>& x);

/// By member, the bytes that it receives from the others where they go from each to each, and those
/// of sums in a ring: a part from each of the others, a whole sum all other parts once more.
std::vector<std::int64_t> received(const Op& op, const Attrs& attrs,
                                   const std::vector<HostArray>& x);

}  // namespace tessera::inline v0::spmd
