// Checks the speeds that a plan is priced with.
#pragma once

#include "base/message.h"

#include <tessera/plan.h>

namespace tessera::inline v0::explain {

/// Throws ShardingError, listing the invalid speeds. `what` heads the error.
void check_speeds(const char* what, const PlanOptions& options, const SourceLoc& loc);

}  // namespace tessera::inline v0::explain
