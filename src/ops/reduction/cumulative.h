// The routine of running totals.
#pragma once

#include "ir/routine.h"

namespace tessera::inline v0::ops {

/// The routine for the op's combiner; cumulative_call.cc.
std::shared_ptr<const Routine> cumulative_call(const CallArgs& a);

}  // namespace tessera::inline v0::ops
