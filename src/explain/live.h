// Temporaries of a device by when values are needed, without planning its memory.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <vector>

namespace tessera::inline v0::explain {

/// By variable, whether it is stored: not where the equation that makes it is computed where the
/// only one that reads it is.
std::vector<bool> stored(const Program& p);

/// The most bytes that stored values take together at any time, but for the program's inputs and
/// outputs. What runs another program has the most that one takes beside. Of values that share
/// memory (views) the first counts, as long as the last is needed.
std::int64_t live_bytes(const Program& p);

}  // namespace tessera::inline v0::explain
