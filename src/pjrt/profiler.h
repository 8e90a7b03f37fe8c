// Profiles for JAX: `jax.profiler` starts and stops our profiler, and stores the events of both.
#pragma once

#include "platforms/abi.h"
#include "runtime/profiler.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::pjrt {

/// The extension by which a client finds the profiler. It is the last one in the list.
PJRT_Extension_Base* profiler_extension();

/// The events as a serialized XSpace, the format in which JAX stores profiles. A plane "devices"
/// has a line for the work that is done for all devices together, one for collectives, and one for
/// each device; a plane "host" has a line for each thread. Statistics of an event are its `kind`,
/// its `scope` and the `source` line. `wall_clock`, in nanoseconds, is added to the times of events
/// and makes them times since 1970.
std::string xspace_of(const std::vector<runtime::profiler::Event>& events, std::int64_t wall_clock);

}  // namespace tessera::inline v0::pjrt
