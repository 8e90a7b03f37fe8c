// Estimates a device's temporaries by liveness, without planning its memory.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <vector>

namespace tessera::inline v0::explain {

/// For each variable, whether it is stored. It is not if its equation is fused into its only
/// reader.
std::vector<bool> stored(const Program& p);

/// The peak bytes of stored values that are alive at the same time, excluding the program's inputs
/// and outputs. An equation that runs other programs adds the peak of the largest of these. Of
/// values that share memory (views), the first counts, until the last of them is dead.
std::int64_t live_bytes(const Program& p);

}  // namespace tessera::inline v0::explain
