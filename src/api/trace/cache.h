// Settings of the caches of traced functions.
#pragma once

#include "api/trace/entry.h"

namespace tessera::inline v0::detail {

/// Makes every call trace again and compare the programs, to find functions that depend on
/// something that has changed since their first trace. TESSERA_CHECK_CAPTURES=1 does the same.
void set_check_captures(bool on);

/// Drops the remembered programs of eager operations: this thread's at once, other threads' at
/// their next operation.
void forget_composites();

}  // namespace tessera::inline v0::detail
