// The routine of running totals.
#pragma once

#include "ir/routine.h"

namespace tessera::inline v0::ops {

/// cumulative_call.cc; by the op's combiner.
std::shared_ptr<const Routine> cumulative_call(const CallArgs& a);

}  // namespace tessera::inline v0::ops
